"""The reports: counts per hour, read as series, totals, groups and usage."""
