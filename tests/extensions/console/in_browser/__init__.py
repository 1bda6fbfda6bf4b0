"""Tests of the console in a browser: `make test-browser`."""
