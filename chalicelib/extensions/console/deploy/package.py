"""Adds the SDK's data for SES and the compiled templates to the deployment package.

Without compiled templates, the first page that each process renders would be slow.
"""

import shutil
from pathlib import Path

from jinja2 import FileSystemLoader

from chalicelib.extensions.console.presentation import rendering
from infra.package.trim import Service

SERVICES = {"ses": Service("email", ("SendRawEmail",))}


def prepare(directory: Path) -> list[Path]:
    """Compile the console's templates in the package `directory`, and return the folder that contains the modules."""
    console = directory / "chalicelib" / "extensions" / "console"
    sources = rendering.environment().overlay(loader=FileSystemLoader(console / rendering.SOURCES))
    sources.compile_templates(console / rendering.COMPILED, zip=None, ignore_errors=False)
    shutil.rmtree(console / rendering.SOURCES)
    return [console / rendering.COMPILED]
