"""Selects parts of a stored document by the marks on its model's members."""

from collections.abc import Callable
from functools import cache
from typing import Any, get_args, get_origin

from chalicelib.http.wire import WireModel, marked


@cache
def secret_members(model: type[WireModel]) -> set[str]:
    """Return a model's own secret members, without those of nested objects."""
    return marked(model, "x-secret")


def without_secrets(model: type[WireModel], document: dict[str, Any]) -> dict[str, Any]:
    """Return `document` without secret members, at any depth.

    Undeclared members may be secret, so they are removed. The same applies to a member that is now declared as an
    object but that an earlier release stored as another type.
    """
    return project(model, document, _not_secret)


def public(model: type[WireModel], document: dict[str, Any]) -> dict[str, Any]:
    """Return only the public members of `document`, at any depth."""
    return project(model, document, _public_members)


def project(
    model: type[WireModel], document: dict[str, Any], members: Callable[[type[WireModel]], set[str]]
) -> dict[str, Any]:
    """Return the parts of `document` that `members` selects for the model and for the models of nested objects."""
    nested, known = nested_models(model), members(model)
    kept = {name: value for name, value in document.items() if name in known}
    for name in kept.keys() & nested.keys():
        if isinstance(kept[name], list):
            kept[name] = [project(nested[name], item, members) for item in kept[name] if isinstance(item, dict)]
        elif isinstance(kept[name], dict):
            kept[name] = project(nested[name], kept[name], members)
        else:
            del kept[name]
    return kept


@cache
def _not_secret(model: type[WireModel]) -> set[str]:
    return model.model_fields.keys() - secret_members(model)


@cache
def _public_members(model: type[WireModel]) -> set[str]:
    return marked(model, "x-public")


@cache
def nested_models(model: type[WireModel]) -> dict[str, type[WireModel]]:
    """Return the models for members that are objects or lists of objects."""
    models = {name: model_in(field.annotation) for name, field in model.model_fields.items()}
    return {name: inner for name, inner in models.items() if inner}


def model_in(annotation: Any) -> Any:
    """Return the model of an object, a list of objects, or either combined with None. Otherwise return None."""
    if get_origin(annotation) is None:
        return annotation if isinstance(annotation, type) and issubclass(annotation, WireModel) else None
    return next(filter(None, map(model_in, get_args(annotation))), None)
