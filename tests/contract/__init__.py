"""The specification as data, and tests of the models and routes against it."""
