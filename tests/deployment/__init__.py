"""The deployment: unit tests, and a rehearsal on an emulated cloud."""
