"""The lock files, which `make lock` writes, pin every package with hashes and match the installed packages."""

import ast
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from infra import extension_parts
from tests.selection import first_case

ROOT = Path(__file__).parent.parent
LOCKS = ROOT / "requirements"
FILES = ["uv", "run", "dev", "engine", "bench", "frameworks"]


def required(file: Path) -> list[Requirement]:
    requirements = []
    for line in file.read_text(encoding="utf-8").splitlines():
        text = line.partition("#")[0].strip()
        if text.startswith("-r "):
            requirements += required(file.parent / text[3:])
        elif text:
            requirements.append(Requirement(text))
    return requirements


def locked(file: Path) -> dict[str, set[str]]:
    """Return the locked versions by package name. A package has two versions if none supports every Python."""
    versions: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", file.read_text(encoding="utf-8"), re.MULTILINE):
        versions.setdefault(canonicalize_name(name), set()).add(version)
    return versions


def imported(source: Path) -> list[str]:
    """Return the modules that a source file imports by absolute name."""
    modules = []
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.append(node.module)
    return modules


@pytest.mark.parametrize("name", FILES)
@first_case
def test_every_requirement_is_pinned_and_locked_at_that_version(name: str) -> None:
    lock = locked(LOCKS / f"{name}.lock")
    # The service's environments also contain the extensions' requirements.
    files = extension_parts.requirements() if name in ("run", "dev", "bench") else []
    for requirement in [one for file in (LOCKS / f"{name}.txt", *files) for one in required(file)]:
        (pin,) = requirement.specifier
        assert pin.operator == "=="
        assert pin.version in lock[canonicalize_name(requirement.name)], requirement.name


@pytest.mark.parametrize("name", FILES)
@first_case
def test_every_locked_package_has_hashes_and_no_source_url(name: str) -> None:
    text = (LOCKS / f"{name}.lock").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=\S)", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).strip())
    for entry in entries:
        assert re.fullmatch(r"\S+==[^\\]+(\\\n    --hash=sha256:[0-9a-f]{64} ?)+", entry), entry.splitlines()[0]


@pytest.mark.parametrize("larger", ["dev", "bench"])
def test_every_lock_has_the_same_runtime_versions(larger: str) -> None:
    run, more = (locked(LOCKS / f"{name}.lock") for name in ("run", larger))
    # A lock for fewer Python versions may contain only one of a package's versions.
    assert [name for name, versions in run.items() if not versions & more.get(name, set())] == []


def test_the_lock_of_the_local_run_has_all_its_imports() -> None:
    sources = [ROOT / "app.py", ROOT / "infra" / "tables.py", ROOT / "infra" / "extension_parts.py"]
    for folder in ("chalicelib", "infra/local", "infra/operator"):
        sources += (ROOT / folder).rglob("*.py")
    modules = {name.partition(".")[0] for source in sources for name in imported(source)}
    packages = metadata.packages_distributions()
    run, engine = (locked(LOCKS / f"{name}.lock") for name in ("run", "engine"))
    installed = {canonicalize_name(name) for module in modules for name in packages.get(module, [])}
    assert installed <= run.keys() | engine.keys()
    assert {"chalice", "boto3", "click", "pyyaml"} <= installed


def test_the_installed_packages_match_the_lock() -> None:
    lock = locked(LOCKS / "dev.lock")
    for distribution in metadata.distributions():
        name = canonicalize_name(distribution.metadata["Name"])
        assert name in {"pip", "setuptools"} or distribution.version in lock.get(name, set()), name


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
