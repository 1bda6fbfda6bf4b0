"""Reports: counts of what happened per hour, read as series, totals, groups and usage."""
