"""The files of the packages that ship: of each the version that is tested, from a wheel that fits the function.

What is installed beside this command is taken from there when its wheel fits; its files are compared with the hashes
that it was installed with. Of what does not fit (another system, a newer C library) the same version is downloaded
once, from where pip's own configuration says, and is taken when the lock has its hash.
"""

import base64
import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from packaging import tags
from packaging.requirements import Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

_ROOT = Path(__file__).parents[2]
DOWNLOADS = _ROOT / "build" / "wheels"
_LOCK = _ROOT / "requirements-dev.lock"


class BuildError(Exception):
    """Why there is no package, as one sentence for the person who builds it."""


class File(NamedTuple):
    """A file of a package, and where it stands in the zip."""

    path: str
    content: bytes


class Target(NamedTuple):
    """Where functions run: their platforms as pip names them, none for this machine."""

    platforms: tuple[str, ...] = ()

    @property
    def tags(self) -> frozenset[tags.Tag]:
        """Those of the wheels that fit. The Python is this one: Chalice deploys to the version that it runs on."""
        if not self.platforms:
            return frozenset(tags.sys_tags())
        version = sys.version_info[:2]
        return frozenset(
            [
                *tags.cpython_tags(version, platforms=self.platforms),
                *tags.compatible_tags(version, f"cp{version[0]}{version[1]}", self.platforms),
            ]
        )


def lambda_target() -> Target:
    """The platform of AWS Lambda: x86-64, with the C library of the runtime's Amazon Linux."""
    glibc = 26 if sys.version_info < (3, 12) else 34
    manylinux = [f"manylinux_2_{minor}_x86_64" for minor in range(glibc, 4, -1)]
    return Target((*manylinux, "manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64", "linux_x86_64"))


HERE = Target()


def of(requirements: Path, target: Target, downloads: Path = DOWNLOADS) -> Iterator[File]:
    """Every file of what `requirements` names and of what that needs, but what only an installation has."""
    for distribution in _needed(requirements):
        yield from _files(distribution, target, downloads)


def _needed(requirements: Path) -> list[metadata.Distribution]:
    lines = (line.partition("#")[0].strip() for line in requirements.read_text(encoding="utf-8").splitlines())
    waiting = [Requirement(line) for line in lines if line]
    found: dict[str, metadata.Distribution] = {}
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name not in found and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
            found[name] = _installed(wanted)
            waiting += [Requirement(line) for line in found[name].requires or ()]
    return [found[name] for name in sorted(found)]


def _installed(wanted: Requirement) -> metadata.Distribution:
    try:
        distribution = metadata.distribution(wanted.name)
    except metadata.PackageNotFoundError:
        raise BuildError(
            f"{wanted.name} is not installed, so that nothing was tested with it: run `make install`."
        ) from None
    if not wanted.specifier.contains(distribution.version, prereleases=True):
        raise BuildError(f"{_name(distribution)} is installed, {wanted} is needed: run `make install`.")
    return distribution


def _name(distribution: metadata.Distribution) -> str:
    return f"{distribution.metadata['Name']} {distribution.version}"


def _files(distribution: metadata.Distribution, target: Target, downloads: Path) -> Iterator[File]:
    lines = (distribution.read_text("WHEEL") or "").splitlines()
    of_wheel = [tag for line in lines if line.startswith("Tag: ") for tag in tags.parse_tag(line[5:].strip())]
    if not target.tags.isdisjoint(of_wheel):
        return _installed_files(distribution)
    wheel = _downloaded(distribution, target, downloads)
    _require_locked(wheel, distribution)
    return _unpacked(wheel)


def _installed_files(distribution: metadata.Distribution) -> Iterator[File]:
    for file in distribution.files or ():
        if file.hash is None or ".." in file.parts:  # made by the installation, or a command
            continue
        content = Path(str(file.locate())).read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.new(file.hash.mode, content).digest()).decode().rstrip("=")
        if digest != file.hash.value:
            raise BuildError(f"{file} of {_name(distribution)} was changed after its installation: install it again.")
        yield File(file.as_posix(), content)


def _require_locked(wheel: Path, distribution: metadata.Distribution) -> None:
    package = f"{canonicalize_name(distribution.metadata['Name'])}=={distribution.version}"
    entry = re.search(rf"^{re.escape(package)}[ ;].*?(?=^\S|\Z)", _LOCK.read_text(encoding="utf-8"), re.M | re.S)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if not entry or f"--hash=sha256:{digest}" not in entry[0]:
        raise BuildError(f"{wheel} is not what {_LOCK.name} has of {_name(distribution)}: remove it.")


def _unpacked(wheel: Path) -> Iterator[File]:
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            if not entry.is_dir():
                yield File(entry.filename, archive.read(entry))


def _downloaded(distribution: metadata.Distribution, target: Target, downloads: Path) -> Path:
    """The wheel, from an earlier build if there was one."""
    wheel = _kept(distribution, target, downloads)
    if wheel is None:
        _download(distribution, target, downloads)
        wheel = _kept(distribution, target, downloads)
    if wheel is None:
        raise BuildError(f"The wheel that pip has found of {_name(distribution)} does not fit the function's platform.")
    return wheel


def _kept(distribution: metadata.Distribution, target: Target, downloads: Path) -> Path | None:
    for wheel in sorted(downloads.glob("*.whl")):
        try:
            name, version, _, of_wheel = parse_wheel_filename(wheel.name)
        except InvalidWheelFilename:
            continue
        is_this = (name, str(version)) == (canonicalize_name(distribution.metadata["Name"]), distribution.version)
        if is_this and not target.tags.isdisjoint(of_wheel):
            return wheel
    return None


def _download(distribution: metadata.Distribution, target: Target, downloads: Path) -> None:
    downloads.mkdir(parents=True, exist_ok=True)
    wanted = f"{distribution.metadata['Name']}=={distribution.version}"
    platforms = [part for platform in target.platforms for part in ("--platform", platform)]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download", "--no-deps"]
    # Beside its place first: an interrupted download is not taken for a wheel.
    with tempfile.TemporaryDirectory(dir=downloads) as directory:
        ran = subprocess.run(
            [*pip, "--only-binary", ":all:", *platforms, "--dest", directory, wanted],
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            said = [line for line in ran.stderr.splitlines() if line.startswith("ERROR: ")] or ["ERROR: pip failed"]
            raise BuildError(
                f"There is no wheel of {_name(distribution)} that fits the function's platform "
                f"({said[-1].removeprefix('ERROR: ').rstrip('.')[:200]})."
            )
        for wheel in Path(directory).iterdir():
            wheel.replace(downloads / wheel.name)
