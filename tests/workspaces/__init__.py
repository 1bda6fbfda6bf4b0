"""Tests of workspaces: settings, suspension, export, import and deletion (`python -m infra.cams`)."""
