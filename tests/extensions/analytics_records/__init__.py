"""Tests of the analytics_records extension."""
