"""A directory of wheels that pip and uv use as their only index, so that tests need no network access."""

import hashlib
import os
import zipfile
from pathlib import Path


def add_wheel(directory: Path, name: str, tag: str = "py3-none-any") -> str:
    """Add version 1 of a package with one module, and return its line for a lock file."""
    directory.mkdir(exist_ok=True)
    wheel, info = directory / f"{name}-1-{tag}.whl", f"{name}-1.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{name}.py", "")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        archive.writestr(f"{info}/entry_points.txt", f"[console_scripts]\n{name} = {name}:main\n")
        members = [one.filename for one in archive.infolist()]
        archive.writestr(f"{info}/RECORD", "".join(f"{member},,\n" for member in [*members, f"{info}/RECORD"]))
    return f"{name}==1 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


def variables(directory: Path) -> dict[str, str]:
    """Return environment variables that make pip search only `directory` and give uv an empty cache."""
    return {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(directory),
        "UV_CACHE_DIR": str(directory.with_name("cache")),
    }
