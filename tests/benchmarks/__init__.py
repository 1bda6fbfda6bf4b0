"""Check the benchmarks' figures for CAMS in every test run."""
