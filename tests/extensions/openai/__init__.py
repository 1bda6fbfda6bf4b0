"""Tests of the openai extension."""
