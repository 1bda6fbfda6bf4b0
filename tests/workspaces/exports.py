"""Helpers that write exports, and that simulate another account for imports."""

from pathlib import Path

from chalicelib import settings, storage
from chalicelib.storage import keyring
from infra.operator import exports
from tests.engines import clear
from tests.workspaces.commands import succeed


def other_account() -> None:
    """Simulate another account: empty the tables and use another KMS key."""
    clear()
    kms = storage.sdk_client("kms")
    key = kms.create_key()["KeyMetadata"]["KeyId"]
    kms.update_alias(AliasName=settings.encryption_key(), TargetKeyId=key)
    keyring.ensure_data_key()


def suspended_export(workspace_id: str, path: Path) -> bytes:
    """Suspend a workspace and export it; return the export."""
    succeed("suspend", workspace_id, "--yes")
    succeed("export", workspace_id, str(path))
    return path.read_bytes()


def resumed_export(workspace_id: str, path: Path, prefix: bytes) -> bytes:
    """Continue an export from a file that contains these bytes; return the complete export."""
    path.write_bytes(prefix)
    exports.export(workspace_id, path)
    return path.read_bytes()
