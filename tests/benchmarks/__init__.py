"""Tests of the benchmarks and of CAMS's published results."""
