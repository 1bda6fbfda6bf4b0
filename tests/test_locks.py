"""The lock files pin every package with hashes, and the installed packages match them (`make lock` writes them)."""

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from infra.package import wheels

ROOT = Path(__file__).parent.parent
FILES = ["requirements-dev", "requirements-engine", "requirements-bench"]


def wanted(file: Path) -> list[Requirement]:
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        text = line.partition("#")[0].strip()
        if text.startswith("-r "):
            found += wanted(file.parent / text[3:])
        elif text:
            found.append(Requirement(text))
    return found


def locked(file: Path) -> dict[str, set[str]]:
    """The locked versions by package name. A package has two where no single version supports every Python."""
    versions: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", file.read_text(encoding="utf-8"), re.MULTILINE):
        versions.setdefault(canonicalize_name(name), set()).add(version)
    return versions


@pytest.mark.parametrize("name", FILES)
def test_every_requirement_is_pinned_and_locked_at_that_version(name: str) -> None:
    lock = locked(ROOT / f"{name}.lock")
    for requirement in wanted(ROOT / f"{name}.txt"):
        (pin,) = requirement.specifier
        assert pin.operator == "=="
        assert pin.version in lock[canonicalize_name(requirement.name)], requirement.name


@pytest.mark.parametrize("name", FILES)
def test_every_locked_package_has_hashes_and_no_source_url(name: str) -> None:
    text = (ROOT / f"{name}.lock").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=\S)", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).strip())
    for entry in entries:
        assert re.fullmatch(r"\S+==[^\\]+(\\\n    --hash=sha256:[0-9a-f]{64} ?)+", entry), entry.splitlines()[0]


def test_every_lock_has_the_same_versions_of_the_shipped_packages() -> None:
    dev, bench = (locked(ROOT / f"requirements-{name}.lock") for name in ("dev", "bench"))
    for distribution in wheels._needed(ROOT / "requirements.txt"):
        name = canonicalize_name(distribution.metadata["Name"])
        assert distribution.version in dev[name] & bench[name], name


def test_the_installed_packages_are_the_locked_ones() -> None:
    lock = locked(ROOT / "requirements-dev.lock")
    for distribution in metadata.distributions():
        name = canonicalize_name(distribution.metadata["Name"])
        assert name in {"pip", "setuptools"} or distribution.version in lock.get(name, set()), name


def test_a_package_with_another_hash_is_not_installed(tmp_path: Path) -> None:
    lock = tmp_path / "forged.lock"
    lock.write_text(f"six==1.17.0 --hash=sha256:{'0' * 64}\n", encoding="utf-8")
    installer = ROOT / "infra" / "local" / "install.py"
    ran = subprocess.run(
        [sys.executable, str(installer), str(tmp_path / "venv"), str(lock)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert "DO NOT MATCH THE HASHES" in ran.stderr
    assert not list(tmp_path.glob("venv/lib/*/site-packages/six*"))


AUDITS = [
    ("clean", '{"dependencies": [{"name": "six", "version": "1", "vulns": []}]}', "", 0, "1 packages audited, 0 known"),
    (
        "vulnerable",
        '{"dependencies": [{"name": "six", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": ["2"]}]}]}',
        "",
        1,
        "six 1: CVE-1, fixed in 2",
    ),
    ("offline", "", "requests.exceptions.ConnectionError: no such host", 0, "NOT AUDITED"),
    ("mirror", '{"dependencies": [{"name": "six", "version": "1", "skip_reason": "?"}]}', "", 0, "NOT AUDITED"),
    (
        "partial data",
        '{"dependencies": [{"name": "six", "version": "1", "skip_reason": "?"},'
        ' {"name": "h11", "version": "1", "vulns": []}]}',
        "",
        1,
        "there is no data on six",
    ),
    ("broken", "", "ERROR: package six has duplicate requirements", 1, "audit failed: ERROR: package six"),
]


@pytest.mark.parametrize(
    ("stdout", "stderr", "status", "printed"), [one[1:] for one in AUDITS], ids=[one[0] for one in AUDITS]
)
def test_the_audit_fails_unless_its_data_is_unreachable(
    stdout: str, stderr: str, status: int, printed: str, tmp_path: Path
) -> None:
    (tmp_path / "pip_audit").mkdir()
    (tmp_path / "pip_audit" / "__init__.py").touch()
    fake = f"import sys; print({stdout!r}); print({stderr!r}, file=sys.stderr); sys.exit(1)"
    (tmp_path / "pip_audit" / "__main__.py").write_text(fake, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "infra.audit", "any.lock"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == status, ran.stderr
    assert printed in ran.stdout
