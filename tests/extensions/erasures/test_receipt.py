"""The signed receipt for an erasure."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import boto3
import pytest

from chalicelib import clock, errors
from chalicelib.extensions.erasures import functions, receipt
from chalicelib.storage import Document
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.conftest import PassTime
from tests.extensions.erasures.person_erasure import COUNTS, begin, erase, read
from tests.person_records import ZARA
from tests.queues.messages import take


def test_a_receipt_has_a_hash_and_a_signature_of_its_canonical_text(
    api: Api, workspace: NewWorkspace, filled: None, pass_time: PassTime
) -> None:
    signed = erase(api, pass_time, **ZARA)["receipt"]
    text = receipt.canonical(signed)
    assert hashlib.sha256(text).hexdigest() == signed["hash"]
    assert json.loads(text)["workspaceId"] == workspace.workspace_id
    verified = boto3.client("kms").verify(
        KeyId=receipt.key_alias(), Message=text, MessageType="RAW",
        Signature=base64.b64decode(signed["signature"]), SigningAlgorithm="ECDSA_SHA_256",
    )  # fmt: skip
    assert verified["SignatureValid"]
    day = 24 * 60 * 60
    assert signed["streamsUntil"] == clock.iso(int(_seconds(signed["completedAt"])) + day)


def _seconds(iso: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(iso.replace("Z", "+00:00")).timestamp()


def test_an_erasure_is_not_complete_without_its_signature(
    api: Api, filled: None, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    erasure_id = begin(api, **ZARA)
    functions.erase({"Records": take("erasures")}, None)
    pass_time(90)
    waiting = take("erasures")
    with monkeypatch.context() as patch:
        patch.setattr(receipt, "_ALGORITHM", "UNKNOWN")
        with pytest.raises(errors.Unavailable):
            functions.erase({"Records": waiting}, None)
    assert read(api, erasure_id)["status"] == "running"
    functions.erase({"Records": waiting}, None)
    assert read(api, erasure_id)["receipt"]["counts"] == COUNTS


@pytest.mark.skipif(not (shutil.which("openssl") and shutil.which("jq")), reason="needs openssl and jq")
@pytest.mark.parametrize("saved", [lambda erasure: {"data": erasure}, lambda erasure: erasure["receipt"]])
def test_the_documented_command_verifies_a_receipt(
    api: Api, filled: None, pass_time: PassTime, tmp_path: Path, saved: Callable[[Document], Document]
) -> None:
    (tmp_path / "erasure.json").write_text(json.dumps(saved(erase(api, pass_time, **ZARA))))
    key = boto3.client("kms").get_public_key(KeyId=receipt.key_alias())["PublicKey"]
    (tmp_path / "receipts.der").write_bytes(key)
    page = (Path(__file__).parents[3] / "docs/erasures.md").read_text(encoding="utf-8")
    (command,) = (block for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "-verify" in block)
    ran = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.stdout == "Verified OK\n", ran.stderr
    with (tmp_path / "erasure.json").open("r+") as file:
        changed = file.read().replace('"conversations": 2', '"conversations": 3')
        file.seek(0)
        file.write(changed)
    ran = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "Verified OK" not in ran.stdout
