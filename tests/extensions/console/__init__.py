"""Tests of the console extension."""
