"""The questions of the suite, a module each: `TITLE`, and `measure(run)` which returns its rows."""
