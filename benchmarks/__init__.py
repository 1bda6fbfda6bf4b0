"""Measurements that are printed, not asserted."""
