"""Names the organisation of each change in the audit log: a person's, or those of an agent, its tools and its keys."""

from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from chalicelib.extensions.console.access import organisation_list
from chalicelib.extensions.console.presentation.template_filters import display_name
from chalicelib.storage import Document

_MAX_NAMES = 2


def names_by_change(changes: Sequence[Document], organisations: Iterable[Document]) -> dict[str, str]:
    """Return the names of the organisations of each change by the change's id. Deleted records have none."""
    by_id = {one["ID"]: one for one in organisations}
    paths = {one["id"]: _split(one["record"].path) if one["record"] else [] for one in changes}
    agent_ids = {path[1] for path in paths.values() if path[:1] == ["agents"]}
    of_agents = organisation_list.by_agent(by_id.values(), agent_ids)
    names = {}
    for change_id, path in paths.items():
        if path[:1] == ["agents"]:
            names[change_id] = _join(of_agents[path[1]])
        elif path[:2] == ["settings", "orgs"]:
            names[change_id] = _join([by_id[path[2]]] if path[2] in by_id else [])
    return names


def _split(path: str) -> list[str]:
    """Return the parts of a page's path, such as `/agents/support#tools`, without its fragment."""
    return [unquote(part) for part in path.partition("#")[0].split("/")[1:]]


def _join(organisations: Sequence[Document]) -> str:
    names = [display_name(one, "name", "ID") for one in organisations[:_MAX_NAMES]]
    return ", ".join([*names, *["…"] * (len(organisations) > _MAX_NAMES)])
