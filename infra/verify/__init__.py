"""Checks of a deployed stage in its account: `python -m infra.deploy verify --stage X`."""
