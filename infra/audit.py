"""Asks whether a vulnerability is known of any package that the lock files name.

    python -m infra.audit requirements-dev.lock ...

Ends with 1 where one is known, or where anything could not be found out. A machine that cannot reach the source of
known vulnerabilities, or reaches a mirror that has none, is told so, and that nothing was audited: that alone is no
failure.
"""

import json
import subprocess
import sys
from typing import Any

_AUDIT = (
    "-m",
    "pip_audit",
    "--disable-pip",
    "--require-hashes",
    "--no-deps",
    "--format=json",
    "--progress-spinner=off",
)
_AWAY = ("ConnectionError", "Could not connect", "is not redirecting properly")

Package = dict[str, Any]


class Unreachable(Exception):
    """The source does not answer."""


class Failed(Exception):
    """The audit itself has failed, for another reason."""


def main(locks: list[str]) -> int:
    """Audit the packages of all `locks` and say what was found. Returns the exit status."""
    try:
        packages = {(one["name"], one["version"]): one for lock in locks for one in _audited(lock)}
    except Unreachable as why:
        print(f"NOT AUDITED: the source of known vulnerabilities cannot be reached ({why}).")
        return 0
    except Failed as why:
        print(f"The audit for known vulnerabilities has failed: {why}")
        return 1
    return _told(list(packages.values()))


def _audited(lock: str) -> list[Package]:
    ran = subprocess.run([sys.executable, *_AUDIT, "--requirement", lock], capture_output=True, text=True, check=False)
    said = (ran.stderr.strip().splitlines() or ["it said nothing"])[-1][:200]
    if not ran.stdout.strip():
        raise Unreachable(said) if any(sign in ran.stderr for sign in _AWAY) else Failed(said)
    packages: list[Package] = json.loads(ran.stdout)["dependencies"]
    skipped = [one for one in packages if "skip_reason" in one]
    if len(skipped) == len(packages):
        raise Unreachable(f"it knows no package of {lock}")
    if skipped:
        raise Failed(f"nothing is known, good or bad, of {', '.join(one['name'] for one in skipped)}")
    return packages


def _told(packages: list[Package]) -> int:
    found = [(one, known) for one in packages for known in one["vulns"]]
    for one, known in found:
        fixed = ", ".join(known["fix_versions"]) or "no version yet"
        print(f"{one['name']} {one['version']}: {known['id']}, fixed in {fixed}")
    print(f"{len(packages)} packages audited, {len(found)} known vulnerabilities.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
