"""The setup (`infra.uv`, `infra.local`) passes pip's configuration to uv, and installs exactly the locked packages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from infra import uv
from tests import package_index
from tests.selection import first_case, whole

LISTED = """\
:env:.disable-pip-version-check='1'
:env:.index-url=''
:env:.timeout='60'
freeze.timeout='5'
global.extra-index-url='https://one.example/simple\\nfile:///two'
global.index-url='https://user:pass=word@mirror.example/simple'
global.timeout='15'
install.find-links='/wheels ~/wheels'
"""


def test_the_environment_overrides_the_sections_of_pip_s_configuration() -> None:
    assert uv.parse_settings(LISTED) == {
        "disable-pip-version-check": "1",
        "extra-index-url": "https://one.example/simple\nfile:///two",
        "find-links": "/wheels ~/wheels",
        "index-url": "https://user:pass=word@mirror.example/simple",
        "timeout": "60",
    }


SETTINGS = [
    ("index", {"index-url": "https://m/"}, {"UV_DEFAULT_INDEX": "https://m/"}),
    (
        "extra indexes",
        {"extra-index-url": "https://a/\nfile:///b"},
        {"UV_INDEX": "https://a/ file:///b", "UV_INDEX_STRATEGY": "unsafe-best-match"},
    ),
    ("links", {"find-links": "/a https://b/"}, {"UV_FIND_LINKS": "/a,https://b/"}),
    ("hosts", {"trusted-host": "a:1\nb"}, {"UV_INSECURE_HOST": "a:1 b"}),
    ("certificate", {"cert": "/a.pem", "client-cert": "/b"}, {"SSL_CERT_FILE": "/a.pem", "SSL_CLIENT_CERT": "/b"}),
    ("timeout", {"timeout": "5"}, {"UV_HTTP_TIMEOUT": "5"}),
    ("timeout by its other name", {"default-timeout": "5"}, {"UV_HTTP_TIMEOUT": "5"}),
    ("proxy", {"proxy": "http://p"}, dict.fromkeys(("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY"), "http://p")),
    ("keyring", {"keyring-provider": "subprocess"}, {"UV_KEYRING_PROVIDER": "subprocess"}),
    ("a keyring that uv does not support", {"keyring-provider": "import"}, {}),
    ("nothing", {}, {}),
]


@pytest.mark.parametrize(("settings", "expected"), [one[1:] for one in SETTINGS], ids=[one[0] for one in SETTINGS])
@first_case
def test_a_setting_of_pip_is_passed_to_uv_as_a_variable(settings: dict[str, str], expected: dict[str, str]) -> None:
    assert uv.variables(settings, {}) == expected


@pytest.mark.parametrize("name", ["UV_DEFAULT_INDEX", "UV_INDEX_URL"])
def test_a_variable_of_uv_takes_precedence_over_pip(name: str) -> None:
    assert uv.variables({"index-url": "https://pip/"}, {name: "https://uv/"}) == {}


@pytest.mark.parametrize(("no_index", "end"), [("true", ["a.lock", "--no-index"]), ("0", ["a.lock"])])
def test_an_index_that_pip_does_not_use_is_not_used(
    no_index: str, end: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", no_index)
    assert uv.command("pip", "sync", "a.lock")[0][5:] == end


def test_a_lock_does_not_depend_on_extra_indexes_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "file:///extra")
    monkeypatch.delenv("UV_INDEX", raising=False)
    assert uv.command("pip", "sync")[1]["UV_INDEX"] == "file:///extra"
    assert "UV_INDEX" not in uv.command("pip", "compile")[1]


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Simulate a machine without uv, on which pip finds only a stub of uv."""
    (tmp_path / "uv.lock").write_text(package_index.add_wheel(tmp_path / "wheels", "uv"))
    for name, value in package_index.variables(tmp_path / "wheels").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(uv, "_LOCK", tmp_path / "uv.lock")
    monkeypatch.setattr(uv, "_DIRECTORY", tmp_path / ".uv")
    return tmp_path


@whole
def test_uv_is_installed_once_from_its_lock(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    uv.install()
    assert "Fetching uv" in capsys.readouterr().out
    assert (fresh / ".uv" / "bin" / "uv").exists()
    uv.install()
    assert capsys.readouterr().out == ""


@whole
def test_uv_with_another_hash_is_not_installed(fresh: Path) -> None:
    (fresh / "uv.lock").write_text(f"uv==1 --hash=sha256:{0:064}\n")
    with pytest.raises(uv.UvError, match=r"(?s)DO NOT MATCH THE HASHES.*pip could not install uv\.lock"):
        uv.install()
    assert not (fresh / ".uv" / "bin" / "uv").exists()


@whole
def test_uv_is_installed_despite_pip_s_configured_target(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_USER", "1")
    uv.install()
    assert (fresh / ".uv" / "bin" / "uv").exists()


def test_an_interpreter_without_venv_is_an_error(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interpreter = fresh / "python"
    interpreter.write_text("#!/bin/sh\necho 'install the package python3-venv'\nexit 1\n")
    interpreter.chmod(0o755)
    monkeypatch.setattr(sys, "_base_executable", str(interpreter))
    with pytest.raises(uv.UvError, match=r"(?s)install the package python3-venv\n.*could not create an environment"):
        uv.install()


class Machine:
    """A machine on which pip and uv find only two local packages. One of the two locks is a subset of the other."""

    def __init__(self, directory: Path) -> None:
        self.venv = directory / "venv"
        wheels = directory / "wheels"
        small, more = (package_index.add_wheel(wheels, name) for name in ("small", "more"))
        self.run = directory / "run.lock"
        self.dev = directory / "dev.lock"
        self.run.write_text(small)
        self.dev.write_text(small + more)
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
        self._environment |= package_index.variables(wheels)

    def install(self, *locks: Path) -> subprocess.CompletedProcess[str]:
        """Run the setup in the same way as the Makefile."""
        return subprocess.run(
            [sys.executable, "-m", "infra.local.install", str(self.venv), *map(str, locks)],
            cwd=uv.ROOT,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def modules(self) -> set[str]:
        """Return the names of the packages in the environment."""
        return {path.stem for path in self.venv.glob("lib/*/site-packages/*.py") if not path.name.startswith("_")}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_an_environment_is_created_once_from_pip_s_configured_index(machine: Machine) -> None:
    first, second = machine.install(machine.run), machine.install(machine.run)
    assert first.returncode == 0, first.stdout
    assert [line.partition(" (")[0] for line in first.stdout.splitlines()] == [
        f"Setting up {machine.venv} from run.lock",
        f"{machine.venv} is ready",
    ]
    assert (second.returncode, second.stdout) == (0, "")
    assert machine.modules() == {"small"}


@whole
def test_a_larger_lock_adds_packages_and_a_smaller_one_removes_none(machine: Machine) -> None:
    machine.install(machine.run, machine.dev)
    machine.install(machine.dev)
    assert machine.modules() == {"small", "more"}
    assert machine.install(machine.run, machine.dev).stdout == ""
    assert machine.modules() == {"small", "more"}


@whole
def test_the_smaller_set_up_installs_a_changed_larger_lock(machine: Machine) -> None:
    machine.install(machine.dev)
    machine.dev.write_text(machine.dev.read_text() + "# changed\n")
    assert "from dev.lock" in machine.install(machine.run, machine.dev).stdout
    assert machine.modules() == {"small", "more"}


@whole
def test_a_package_with_another_hash_is_not_installed(machine: Machine) -> None:
    machine.run.write_text(f"small==1 --hash=sha256:{'0' * 64}\n")
    ran = machine.install(machine.run)
    assert ran.returncode == 1
    assert "Hash mismatch for `small==1`" in ran.stderr
    assert "Installing run.lock failed; see the lines above for the reason." in ran.stderr
    assert machine.modules() == set()
    assert machine.install(machine.run).returncode == 1, "the failed installation left a stamp"
