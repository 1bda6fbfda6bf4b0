"""The wire models of the history."""

from typing import Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from chalicelib.agents.record import AgentV3 as AgentV3
from chalicelib.http.wire import WireModel, omitted
from chalicelib.tools.models import Tool as Tool

ChangeOperation = TypeAliasType("ChangeOperation", Literal["create", "update", "delete"])


class Author(WireModel):
    """The author of a change: the kind, id and name of a credential.

    The kinds are `workspace`, `access`, `agent` and `session` (of the console), and without a credential `operator` (a
    command) and `client` (the link in an email).
    """

    kind: str
    id: str
    name: str


class Change(WireModel):
    """A change of a record. `resource` names it, such as `agents/support`; `at` is ISO 8601.

    `by` is null if the author is unknown. `changed` has the paths of the members, never their values. `number` is the
    number of the version that a change of an agent or a tool has made.
    """

    id: str
    resource: str
    operation: ChangeOperation
    at: str
    by: Author | None
    changed: list[str]
    number: int = omitted()


class Version(WireModel):
    """A version of an agent or a tool. `number` is the time of its write in Unix milliseconds; `at` is ISO 8601.

    `by` is null if the author is unknown.
    """

    number: int = Field(ge=0)
    at: str
    by: Author | None
    changed: list[str]
