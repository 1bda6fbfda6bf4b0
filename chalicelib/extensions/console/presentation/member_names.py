"""Names the members of records as their forms do, for the pages of versions and the audit log."""

from typing import TYPE_CHECKING, NamedTuple

from chalicelib.extensions.console.presentation.template_filters import truncate

if TYPE_CHECKING:
    from chalicelib.extensions.console.presentation.differences import Difference
    from chalicelib.extensions.console.presentation.rendering import Texts

# The maximum number of names on a page for one change, and the maximum length of a path in characters.
_MAX_NAMES, _MAX_PATH = 20, 100
# The members whose values are languages, such as `en`.
_LANGUAGES = ("lang", "preferredLanguage")


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


def value_text(line: str, difference: "Difference", t: "Texts") -> str:
    """Return a changed line without its sign. Flags are Yes or No, and languages have their names."""
    text = line[1:]
    if difference.is_flag:
        return t("yes" if text == "true" else "no")
    is_language = difference.path.rpartition(".")[2] in _LANGUAGES
    return t.named("language", text) if is_language else text


FILTERS = {"member_name": member_name, "member_names": member_names}
