"""Names the members of records as their forms do, for the pages of versions and the audit log."""

from typing import TYPE_CHECKING, NamedTuple

from chalicelib.extensions.console.template_filters import truncate

if TYPE_CHECKING:
    from chalicelib.extensions.console.rendering import Texts

# The maximum number of names on a page for one change, and the maximum length of a path in characters.
_MAX_NAMES, _MAX_PATH = 20, 100


class MemberName(NamedTuple):
    """A member's label, and the rest of its path, such as `start.instructions`. Other members have no label."""

    label: str
    below: str


class MemberNames(NamedTuple):
    """The labels of changed members, without duplicates, and the paths of changed members without a label."""

    labels: list[str]
    paths: list[str]
    has_more: bool


def member_name(path: str, t: "Texts") -> MemberName:
    """Return the label of the longest part of a dotted path that has one."""
    name = path
    while name:
        if (label := t.named("member", name)) != name:
            return MemberName(label, path[len(name) + 1 :])
        name = name.rpartition(".")[0]
    return MemberName("", path)


def member_names(paths: list[str], t: "Texts") -> MemberNames:
    """Return the names of the first 20 changed members."""
    names = [member_name(path, t) for path in paths[:_MAX_NAMES]]
    labels = dict.fromkeys(name.label for name in names if name.label)
    others = [truncate(name.below, _MAX_PATH) for name in names if not name.label]
    return MemberNames([*labels], others, len(paths) > _MAX_NAMES)


FILTERS = {"member_name": member_name, "member_names": member_names}
