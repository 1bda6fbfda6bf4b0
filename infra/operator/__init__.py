"""The operator commands, `python -m infra.cams`, which manage workspaces and their credentials (§5)."""
