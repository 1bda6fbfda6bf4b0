"""Tests of the reports extension."""
