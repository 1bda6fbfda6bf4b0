"""The operator's command line, `python -m infra.cams`: workspaces, and the keys and tokens that open them (§5)."""
