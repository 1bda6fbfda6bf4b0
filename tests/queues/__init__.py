"""Tests of `chalicelib/queues` and of the modules that process queues and streams: `maintenance` and `followers`."""
