"""Lazy imports of wire models, and of modules that only a few endpoints need.

Importing the first pydantic model makes a cold start 50 % longer, so requests that need no model do not import any.
"""

from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any


class LazyModule:
    """A proxy for the module `name`, which is imported when an attribute is first used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._module, attribute)

    @cached_property
    def _module(self) -> ModuleType:
        return import_module(self._name)
