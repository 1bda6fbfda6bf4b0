"""uv in the version that `requirements/uv.lock` names, configured as pip is.

    python3 -m infra.uv pip compile ...

uv installs the environments (`infra.local.install`), resolves the locks (`make lock`) and fetches the packages that
ship (`infra.package.wheels`). This module runs before anything is installed: it imports the standard library only.

uv reads neither `pip.conf` nor `PIP_*`: behind a mirror it would silently use the public index. So pip is asked for its
configuration, and each option becomes the variable that uv reads. A `UV_*` variable that is set takes precedence.
"""

from __future__ import annotations

import ast
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_LOCK = ROOT / "requirements/uv.lock"
_DIRECTORY = ROOT / ".uv"
# Later sections take precedence, as in pip.
_SECTIONS = ("global", "install", ":env:")


class UvError(Exception):
    """uv is not available; the message says why."""


def main() -> None:
    """Runs uv with the arguments of the command line."""
    try:
        arguments, environment = command(*sys.argv[1:])
    except UvError as error:
        sys.exit(str(error))
    sys.exit(subprocess.run(arguments, env=environment, check=False).returncode)


def command(*arguments: str) -> tuple[list[str], dict[str, str]]:
    """The command line and the environment of a call of uv. Installs uv where it is missing; raises UvError."""
    install()
    settings = _pip_settings()
    if arguments[:2] == ("pip", "compile"):
        # An extra index that has a version hides the files that the index has of it: they would miss in the lock.
        settings = {option: text for option, text in settings.items() if option not in _MORE_PLACES}
    options = ["--no-index"] if arguments[:1] == ("pip",) and settings.get("no-index", "").lower() in _TRUE else []
    line = [str(_DIRECTORY / "lib" / "bin" / "uv"), "--no-config", "--no-python-downloads", *arguments, *options]
    return line, {**os.environ, **variables(settings, os.environ)}


_MORE_PLACES = {"extra-index-url", "find-links"}
_TRUE = {"y", "yes", "t", "true", "on", "1"}


def variables(settings: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that give uv the settings of pip, except where `environment` has one of uv's own."""
    index, extra = settings.get("index-url", ""), settings.get("extra-index-url", "").split()
    links = [os.path.expanduser(link) for link in settings.get("find-links", "").split()]  # noqa: PTH111 - or a URL
    keyring = settings.get("keyring-provider", "")
    wanted = {
        ("UV_DEFAULT_INDEX", "UV_INDEX_URL"): index,
        ("UV_INDEX", "UV_EXTRA_INDEX_URL"): " ".join(extra),
        # pip compares the versions of all indexes, too. The hashes of the locks decide what is installed.
        ("UV_INDEX_STRATEGY",): "unsafe-best-match" if extra else "",
        ("UV_FIND_LINKS",): ",".join(links),
        ("UV_INSECURE_HOST",): " ".join(settings.get("trusted-host", "").split()),
        ("UV_HTTP_TIMEOUT",): settings.get("timeout") or settings.get("default-timeout", ""),
        ("UV_KEYRING_PROVIDER",): "subprocess" if keyring == "subprocess" else "",
    }
    passed = {names[0]: value for names, value in wanted.items() if value and not any(map(environment.get, names))}
    # These are not uv's own; pip's options take precedence over them for pip, too.
    for name, option in (("SSL_CERT_FILE", "cert"), ("SSL_CLIENT_CERT", "client-cert"), ("ALL_PROXY", "proxy")):
        if value := settings.get(option):
            passed[name] = value
    if "ALL_PROXY" in passed:
        passed |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), passed["ALL_PROXY"])
    return passed


def parse_settings(listed: str) -> dict[str, str]:
    """The options that apply to `pip install`, from the output of `pip config list`."""
    sections: dict[str, dict[str, str]] = {name: {} for name in _SECTIONS}
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        section, _, option = name.partition(".")
        text = str(ast.literal_eval(value)) if section in sections else ""
        if text:  # pip ignores an empty option, and takes the one of the section before
            sections[section][option] = text
    return {option: text for section in _SECTIONS for option, text in sections[section].items()}


def _pip_settings() -> dict[str, str]:
    line = [_python_with_pip(), "-m", "pip", "config", "list"]
    ran = subprocess.run(line, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise UvError(f"{ran.stderr.strip()[-500:]}\npip cannot read its configuration; see above.")
    return parse_settings(ran.stdout)


def install() -> None:
    """Installs the locked uv with pip, once. Raises UvError."""
    wanted = hashlib.sha256(_LOCK.read_bytes()).hexdigest()
    stamp = _DIRECTORY / "installed-from"
    with hold(_LOCK):
        if stamp.exists() and stamp.read_text() == wanted:
            return
        started = time.monotonic()
        print("Fetching uv, which installs everything else", flush=True)
        shutil.rmtree(_DIRECTORY, ignore_errors=True)
        _pip_install(_python_with_pip())
        stamp.write_text(wanted)
        print(f"uv is ready ({time.monotonic() - started:.0f} s).", flush=True)


def _pip_install(python: str) -> None:
    line = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:"]
    ran = subprocess.run(
        [*line, "--target", str(_DIRECTORY / "lib"), "--requirement", str(_LOCK)],
        # Options of the user that do not go with --target.
        env={**os.environ, "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise UvError(f"{_tail(ran.stdout)}\npip could not install {_LOCK.name}; the lines above say why.")


def _python_with_pip() -> str:
    """The Python that pip is configured for. An environment that uv has made has no pip: its base has.

    Some systems ship pip as a package of its own; there an environment is made that has the pip of `ensurepip`.
    """
    base = str(getattr(sys, "_base_executable", None) or sys.executable)
    if not subprocess.run([base, "-c", "import pip"], capture_output=True, check=False).returncode:
        return base
    python = _DIRECTORY / "pip" / "bin" / "python"
    if not python.exists():
        line = [base, "-m", "venv", "--clear", str(python.parents[1])]
        made = subprocess.run(line, capture_output=True, text=True, check=False)
        if made.returncode:
            raise UvError(
                f"{_tail(made.stdout + made.stderr)}\n{base} has neither pip nor venv. Install one of them; some "
                "systems ship them as packages (python3-pip, python3-venv)."
            )
    return str(python)


def _tail(text: str) -> str:
    # pip lists every version that exists when none fits.
    return "\n".join(line[:200] for line in text.strip().splitlines()[-15:])


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Keeps other processes of this machine out of the block: two terminals on a fresh clone do not fill one folder."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another terminal sets up this project; waiting for it.", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    main()
