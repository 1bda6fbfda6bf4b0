"""Tests of `chalicelib/queues`, and of `maintenance` and `followers`, which process queues and streams."""
