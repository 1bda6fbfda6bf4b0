"""Stage the project and build the package that Chalice would upload.

python -m infra.package --out DIRECTORY
"""

import argparse
import sys
import zipfile
from collections import Counter
from pathlib import Path

from chalice.config import Config
from chalice.deploy.packager import DependencyBuilder, LambdaDeploymentPackager
from chalice.utils import UI, OSUtils

from infra.package import build


def main() -> None:
    """Build the package; print its path and each part's compressed size in bytes."""
    parser = argparse.ArgumentParser(prog="python -m infra.package", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, metavar="DIRECTORY", help="where to stage the project")
    directory: Path = parser.parse_args().out.resolve()
    try:
        build.stage(directory)
    except build.BuildError as error:
        sys.exit(str(error))
    package = build_zip(directory)
    sizes = Counter[str]()
    with zipfile.ZipFile(package) as archive:
        for entry in archive.infolist():
            sizes[entry.filename.partition("/")[0]] += entry.compress_size
    for name, size in sizes.most_common():
        print(f"{size:>12,}  {name}")
    print(f"{package.stat().st_size:>12,}  {package}")


def build_zip(directory: Path) -> Path:
    """Build the zip file that `chalice deploy --project-dir` uploads for a staged directory; return its path."""
    system = OSUtils()
    packager = LambdaDeploymentPackager(system, DependencyBuilder(system), UI())
    return Path(packager.create_deployment_package(str(directory), Config.create().lambda_python_version))


if __name__ == "__main__":
    main()
