"""The types of the settings in `.chalice/config.json` that no other module checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from infra.deploy.stage import Settings, is_generated


def _are_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(element, str) for element in value.values())


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(element, str) for element in value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_TEXTS = (_are_texts, 'an object whose values are strings, such as {"NAME": "value"}')
_LIST = (_is_list, "a list of strings")
_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "environment_variables": _TEXTS,
    "tags": _TEXTS,
    "layers": _LIST,
    "extensions": _LIST,
    "subnet_ids": _LIST,
    "security_group_ids": _LIST,
    "lambda_architecture": (_is_text, "a text"),
    "python_version": (_is_text, 'a string, such as "3.13"'),
    "xray": (lambda value: isinstance(value, bool), "true or false"),
}
# Deployments overwrite these settings, so an operator's value would have no effect.
_DECLARED = ("lambda_memory_size", "lambda_timeout", "iam_policy_file")


def problems(settings: Settings, stage_name: str) -> Iterator[str]:
    """Yield an error for each setting with a wrong type or no effect, without the value, which may be a secret."""
    functions = settings.get("lambda_functions")
    own = functions.items() if isinstance(functions, dict) else ()
    for place, part in [("", settings), *((f"lambda_functions.{name}.", one) for name, one in own)]:
        for name, value in part.items() if isinstance(part, dict) else ():
            is_valid, description = _TYPES.get(name, (None, ""))
            if is_valid and not is_valid(value):
                yield f"{place}{name} of stage {stage_name} has the wrong type: use {description}."
            elif name in _DECLARED:
                yield f"{place}{name} of stage {stage_name} is set by CAMS (infra/deploy/functions.py): remove it."
            elif name == "environment_variables":
                generated = (f"{place}{name}.{variable}" for variable in value if is_generated(variable))
                yield from (f"{one} of stage {stage_name} is set by CAMS: remove it." for one in generated)
