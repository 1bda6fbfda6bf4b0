"""What the benchmarks claim of ours, held in every run of the tests."""
