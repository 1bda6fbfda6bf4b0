"""What a function's start is measured with: the packages that start, and the processes that are counted and timed."""
