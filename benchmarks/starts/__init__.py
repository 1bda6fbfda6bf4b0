"""The cold start question: the packages, and the processes that are counted and timed."""
