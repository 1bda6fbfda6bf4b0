"""The templates of the console as compiled modules, so that the first page of each process is not slow."""

import shutil
from pathlib import Path

from jinja2 import FileSystemLoader

from chalicelib.extensions.console import rendering


def prepare(directory: Path) -> list[Path]:
    """Compile the templates of the console in the package `directory`; return the folder of their modules."""
    console = directory / "chalicelib" / "extensions" / "console"
    sources = rendering.environment().overlay(loader=FileSystemLoader(console / rendering.SOURCES))
    sources.compile_templates(console / rendering.COMPILED, zip=None, ignore_errors=False)
    shutil.rmtree(console / rendering.SOURCES)
    return [console / rendering.COMPILED]
