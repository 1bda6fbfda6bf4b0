"""A module of wire models that is imported when one of its names is first used.

pydantic's first model costs half as much as the rest of a cold start; a request that needs none does without.
"""

from importlib import import_module
from typing import Any


class LazyModule:
    """Stands for the module `name`; its attributes are the module's."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
