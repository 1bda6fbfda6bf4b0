"""The life of a workspace: settings, suspension, export and import, deletion (`python -m infra.cams`)."""
