"""Browser tests of the console: `make test-browser`."""
