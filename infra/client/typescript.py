"""Build the TypeScript client: generate its types from the OpenAPI document, compile it, and pack it for npm.

    python -m infra.client.typescript [DIRECTORY]

The build requires Node.js 20 and the packages in the lock file, which npm installs. `clients/typescript` contains the
hand-written modules. The generated modules exist only in the build's directory.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from app import app
from chalicelib.openapi import document
from infra.client.names import AT_EDGE, has_effect

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "clients" / "typescript"
_DIRECTORY = ROOT / "build" / "typescript-client"
# The messages of these operations have ids, so a repeat stores them only once.
_APPENDS = {"add_conversation_messages", AT_EDGE["add_conversation_messages"]}


def main() -> None:
    """Build into the directory from the command line, and print the package's path and size."""
    if shutil.which("npm") is None:
        sys.exit("The TypeScript client is built with Node.js 20 or newer.")
    package = build(Path(sys.argv[1]) if len(sys.argv) > 1 else _DIRECTORY)
    print(f"{package} ({package.stat().st_size:,} bytes)")


def build(directory: Path) -> Path:
    """Replace `directory` with a new build. Return the path of the package."""
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(SOURCE, directory, ignore=shutil.ignore_patterns("node_modules"))
    shutil.copy(ROOT / "LICENSE", directory)
    shutil.copy(ROOT / "docs" / "typescript-client.md", directory / "README.md")
    described = document.build(app.routes)
    (directory / "openapi.json").write_text(json.dumps(described), encoding="utf-8")
    (directory / "src" / "operations.ts").write_text(_operations(described), encoding="utf-8")
    _run(directory, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    _run(directory, "npm", "pkg", "set", f"version={described['info']['version']}")
    _run(directory, "npx", "openapi-typescript", "openapi.json", "--output", "src/schema.ts")
    _run(directory, "npx", "tsc")
    return directory / _run(directory, "npm", "pack", "--loglevel=error").strip()


def _operations(described: dict[str, Any]) -> str:
    """Return the module that lists the operations with an idempotency key."""
    keyed = {
        f"{method.upper()} {path}": has_effect(operation["operationId"]) and operation["operationId"] not in _APPENDS
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
        if {"$ref": "#/components/parameters/Idempotency-Key"} in operation.get("parameters", ())
    }
    comment = "/** Operations that accept an idempotency key, and whether a repeat would take effect twice. */"
    return f"{comment}\nexport const KEYED: Record<string, boolean> = {json.dumps(keyed, indent=2)};\n"


def _run(directory: Path, *command: str) -> str:
    """Run a command in this directory and return its output. Exit with the output if the command fails."""
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\n{command[0]} failed; see the lines above for the reason.")
    return done.stdout


if __name__ == "__main__":
    main()
