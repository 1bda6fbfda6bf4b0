"""Tests of the benchmarks and of their published results for CAMS."""
