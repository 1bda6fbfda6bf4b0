"""The data of the reports in tables of core: the counts of hours and days. Rows of changes expire within a week."""

ROWS = {"tallies": ("period", "counts#")}
