"""The specification as data, and the models and routes held against it."""
