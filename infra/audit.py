"""Audit the packages in the lock files for known vulnerabilities with pip-audit.

    python -m infra.audit requirements/dev.lock ...

The command exits with status 1 if there is a known vulnerability or if the audit fails. If the vulnerability data
cannot be reached, as on an offline machine or behind a mirror, it prints NOT AUDITED and exits with status 0.
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
_CONNECTION_ERRORS = ("ConnectionError", "Could not connect", "is not redirecting properly")

Package = dict[str, Any]


class Unreachable(Exception):
    """The vulnerability data cannot be reached."""


class Failed(Exception):
    """The audit failed for another reason."""


def main(locks: list[str]) -> int:
    """Audit the packages in the lock files and print the findings. Return the exit status."""
    try:
        packages = {(package["name"], package["version"]): package for lock in locks for package in _audit(lock)}
    except Unreachable as reason:
        print(f"NOT AUDITED: the vulnerability data cannot be reached ({reason}).")
        return 0
    except Failed as reason:
        print(f"The vulnerability audit failed: {reason}")
        return 1
    return _report(list(packages.values()))


def _audit(lock: str) -> list[Package]:
    completed = subprocess.run(
        [sys.executable, *_AUDIT, "--requirement", lock], capture_output=True, text=True, check=False
    )
    last_line = (completed.stderr.strip().splitlines() or ["no output"])[-1][:200]
    if not completed.stdout.strip():
        raise (
            Unreachable(last_line)
            if any(text in completed.stderr for text in _CONNECTION_ERRORS)
            else Failed(last_line)
        )
    packages: list[Package] = json.loads(completed.stdout)["dependencies"]
    skipped = [package for package in packages if "skip_reason" in package]
    if len(skipped) == len(packages):
        raise Unreachable(f"it has no data on any package in {lock}")
    if skipped:
        raise Failed(f"there is no data on {', '.join(one['name'] for one in skipped)}")
    return packages


def _report(packages: list[Package]) -> int:
    findings = [(package, vulnerability) for package in packages for vulnerability in package["vulns"]]
    for one, vulnerability in findings:
        fixed = ", ".join(vulnerability["fix_versions"]) or "no version yet"
        print(f"{one['name']} {one['version']}: {vulnerability['id']}, fixed in {fixed}")
    print(f"{len(packages)} packages audited, {len(findings)} known vulnerabilities.")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
