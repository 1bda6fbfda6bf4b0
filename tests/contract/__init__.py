"""The specification as data, and tests that compare the models and routes with that data."""
