"""Tests of `chalicelib/queues`, and of the modules `maintenance` and `followers`, which process queues and streams."""
