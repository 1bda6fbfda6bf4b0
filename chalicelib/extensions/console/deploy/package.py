"""The console's additions to the package: the SDK's data for SES, and templates as compiled modules.

Without compiled templates, the first page of each process would be slow.
"""

import shutil
from pathlib import Path

from jinja2 import FileSystemLoader

from chalicelib.extensions.console import rendering
from infra.package.trim import Service

SERVICES = {"ses": Service("email", ("SendRawEmail",))}


def prepare(directory: Path) -> list[Path]:
    """Compile the templates of the console in the package `directory`; return the folder of their modules."""
    console = directory / "chalicelib" / "extensions" / "console"
    sources = rendering.environment().overlay(loader=FileSystemLoader(console / rendering.SOURCES))
    sources.compile_templates(console / rendering.COMPILED, zip=None, ignore_errors=False)
    shutil.rmtree(console / rendering.SOURCES)
    return [console / rendering.COMPILED]
