"""Tests of the copies extension."""
