"""The questions of the suite. Each module has a `TITLE` and `measure(run)`, which returns its rows."""
