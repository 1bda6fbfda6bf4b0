"""The operator's commands, `python -m infra.cams`: workspaces and their credentials (§5)."""
