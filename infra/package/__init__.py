"""The deployment package: the tested packages, trimmed to the imported modules and compiled."""
