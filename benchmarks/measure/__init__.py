"""Measurements of the suite: instructions, and CPU time and latency as ratios."""
