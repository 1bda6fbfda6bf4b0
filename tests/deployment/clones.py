"""Fresh clones of the project, and an environment that contains only Chalice."""

import json
import os
import shutil
import subprocess
import venv
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from infra.local import children
from infra.package import interpreters


def clone(project: Path, settings: dict[str, Any] | None = None) -> Path:
    """Commit the checkout's files that git does not ignore, and clone them; return the clone.

    The clone uses the checkout's `.venv` and `.uv`, so that it downloads nothing.
    """
    listed = _git(children.ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")
    source = project.with_name(f"{project.name}-source")
    for name in filter(None, listed):
        if (children.ROOT / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(children.ROOT / name, source / name)
    if settings is not None:
        config = {
            "version": "2.0",
            "app_name": "cams",
            "python_version": interpreters.VERSION,
            "stages": {"local": {}, **settings},
        }
        (source / ".chalice" / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    _git(source, "init", "--quiet")
    _git(source, "add", "--all")
    _git(source, "-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "--quiet", "-m", "Test")
    copy(source, project)
    return project


def copy(source: Path, project: Path) -> Path:
    """Clone a clone again without its uncommitted changes; return the new clone."""
    _git(source.parent, "clone", "--quiet", str(source), str(project))
    for name in (".uv", ".venv"):
        (project / name).symlink_to(children.ROOT / name)
    # The patterns in .gitignore match directories but not links.
    (project / ".git" / "info" / "exclude").write_text(".uv\n.venv\n")
    return project


def changes(project: Path) -> str:
    """Return a clone's changed and untracked files, or an empty string if the clone is clean."""
    return _git(project, "status", "--porcelain", "--untracked-files=all")


def only_chalice(directory: Path) -> Path:
    """Create an environment that contains only Chalice and its dependencies; return the path of its `chalice`."""
    venv.create(directory, symlinks=True)
    (packages,) = directory.glob("lib/python*/site-packages")
    for distribution in _required("chalice", {}).values():
        for top in {Path(str(file)).parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(Path(str(distribution.locate_file(top))))
    command = directory / "bin" / "chalice"
    command.write_text(f"#!{directory}/bin/python\nimport sys\nfrom chalice.cli import main\nsys.exit(main())\n")
    command.chmod(0o755)
    return command


def _required(name: str, known: dict[str, metadata.Distribution]) -> dict[str, metadata.Distribution]:
    """Return the names of a distribution and of all its direct and indirect dependencies."""
    known[name] = metadata.distribution(name)
    for text in known[name].requires or ():
        requirement = Requirement(text)
        needed = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if needed and requirement.name.lower() not in known:
            _required(requirement.name.lower(), known)
    return known


def _git(directory: Path, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *arguments], cwd=directory, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout
