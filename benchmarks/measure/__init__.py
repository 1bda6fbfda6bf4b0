"""How the suite measures: instructions, and CPU time as ratios."""
