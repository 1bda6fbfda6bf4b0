"""Run uv in the version that `requirements/uv.lock` pins, using pip's configuration.

    python3 -m infra.uv pip compile ...

uv installs the environments (`infra.local.install`), resolves the locks (`make lock`) and fetches the packages that
ship (`infra.package.wheels`). This module runs before anything is installed, so it imports only the standard library.

uv reads neither `pip.conf` nor `PIP_*`, so behind a mirror, it would silently use the public index. Therefore, pip's
options are passed to uv as environment variables. A `UV_*` variable that is already set takes precedence.
"""

from __future__ import annotations

import ast
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_LOCK = ROOT / "requirements/uv.lock"
_DIRECTORY = ROOT / ".uv"
# Later sections take precedence, as in pip.
_SECTIONS = ("global", "install", ":env:")
_TRUE = {"y", "yes", "t", "true", "on", "1"}
_OLD_NAMES = {"UV_DEFAULT_INDEX": "UV_INDEX_URL", "UV_INDEX": "UV_EXTRA_INDEX_URL"}


class UvError(Exception):
    """uv is not available. The message contains the reason."""


def main() -> None:
    """Run uv with the arguments from the command line."""
    try:
        arguments, environment = command(*sys.argv[1:])
    except UvError as error:
        sys.exit(str(error))
    sys.exit(subprocess.run(arguments, env=environment, check=False).returncode)


def command(*arguments: str) -> tuple[list[str], dict[str, str]]:
    """Return the command line and environment for running uv. Install uv if it is missing. Raise UvError."""
    install()
    settings = parse_settings(_pip("read its configuration", "config", "list"))
    if arguments[:2] == ("pip", "compile"):
        # If an extra index has a version, uv ignores the main index's files for that version, so the lock would lack
        # them.
        settings = {name: text for name, text in settings.items() if name not in ("extra-index-url", "find-links")}
    options = ["--no-index"] if arguments[:1] == ("pip",) and settings.get("no-index", "").lower() in _TRUE else []
    line = [str(_DIRECTORY / "bin" / "uv"), "--no-config", "--no-python-downloads", *arguments, *options]
    return line, {**os.environ, **variables(settings, os.environ)}


def variables(settings: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return uv's variables for pip's settings, except variables that `environment` already sets."""
    lists = {name: settings.get(name, "").split() for name in ("extra-index-url", "find-links", "trusted-host")}
    proxy = settings.get("proxy", "")
    values = {
        "UV_DEFAULT_INDEX": settings.get("index-url"),
        "UV_INDEX": " ".join(lists["extra-index-url"]),
        # Like pip, compare the versions from all indexes. The hashes in the lock files determine what is installed.
        "UV_INDEX_STRATEGY": "unsafe-best-match" if lists["extra-index-url"] else "",
        "UV_FIND_LINKS": ",".join(map(os.path.expanduser, lists["find-links"])),
        "UV_INSECURE_HOST": " ".join(lists["trusted-host"]),
        "UV_HTTP_TIMEOUT": settings.get("timeout") or settings.get("default-timeout"),
        "UV_KEYRING_PROVIDER": "subprocess" if settings.get("keyring-provider") == "subprocess" else "",
        # These variables are not specific to uv. pip's options take precedence over them, as in pip itself.
        "SSL_CERT_FILE": settings.get("cert"),
        "SSL_CLIENT_CERT": settings.get("client-cert"),
        **dict.fromkeys(("ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY"), proxy),
    }
    own = {name for name in values if {name, _OLD_NAMES.get(name, name)} & environment.keys()}
    return {name: value for name, value in values.items() if value and not (name in own and name.startswith("UV_"))}


def parse_settings(text: str) -> dict[str, str]:
    """Return the options for `pip install` from the output of `pip config list`."""
    sections: dict[str, dict[str, str]] = {name: {} for name in _SECTIONS}
    for line in text.splitlines():
        name, _, value = line.partition("=")
        section, _, option = name.partition(".")
        # pip ignores empty options and uses the previous section's value.
        if section in sections and (parsed := str(ast.literal_eval(value))):
            sections[section][option] = parsed
    return {option: value for section in _SECTIONS for option, value in sections[section].items()}


def install() -> None:
    """Install the locked uv version with a new environment's pip, unless it is installed. Raise UvError."""
    stamp = _DIRECTORY / "uv.lock"
    with hold(_LOCK):
        if stamp.exists() and stamp.read_bytes() == _LOCK.read_bytes():
            return
        print("Fetching uv, which installs everything else", flush=True)
        base = str(getattr(sys, "_base_executable", None) or sys.executable)
        _run(f"{base} could not create an environment", base, "-m", "venv", "--clear", str(_DIRECTORY))
        options = ("--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:", "--disable-pip-version-check")
        _pip(f"install {_LOCK.name}", "install", *options, "--requirement", str(_LOCK))
        stamp.write_bytes(_LOCK.read_bytes())


def _pip(action: str, *arguments: str) -> str:
    python = str(_DIRECTORY / "bin" / "python")
    return _run(f"pip could not {action}", python, "-m", "pip", *arguments)


def _run(failure: str, *line: str) -> str:
    # pip rejects `user` in a virtual environment.
    environment = {**os.environ, "PIP_USER": "0"}
    try:
        ran = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    except OSError as error:
        raise UvError(f"{failure}: {error}") from error
    if ran.returncode:
        # If no version matches, pip lists every existing version.
        last = "\n".join(text[:200] for text in (ran.stdout + ran.stderr).strip().splitlines()[-15:])
        raise UvError(f"{last}\n{failure}; see the lines above for the reason.")
    return ran.stdout


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Lock out other processes during the block, because two terminals in a fresh clone share a folder."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another terminal is setting up this project; waiting for it.", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    main()
