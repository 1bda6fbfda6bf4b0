"""The reports extension: hourly counts, from which it builds time series, totals, groups and usage."""
