"""The history's wire models."""

from typing import Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from chalicelib.agents.record import AgentV3 as AgentV3
from chalicelib.http.wire import WireModel, omitted
from chalicelib.tools.models import Tool as Tool

ChangeOperation = TypeAliasType("ChangeOperation", Literal["create", "update", "delete"])


class Author(WireModel):
    """A change's author: the kind, id and name of a credential.

    The kinds of credential are `workspace`, `access`, `agent` and `session` (a console session). Changes without a
    credential have the kind `operator` (a command) or `client` (a link in an email).
    """

    kind: str
    id: str
    name: str


class Change(WireModel):
    """A change to a record. `resource` identifies the record, such as `agents/support`. `at` is in ISO 8601.

    An act has the operation `create`: an erasure (`erasures/{id}`), or that an operator viewed the console as a client
    (`views/{client id}`) or an agent's key (`keyviews/{agent id}`). `by` is null if the author is unknown. `changed`
    contains the paths of the changed members, never their values. `number` is the version that a change to an agent or
    tool created. If the change restored a version, `restoredFrom` is that version's number.
    """

    id: str
    resource: str
    operation: ChangeOperation
    at: str
    by: Author | None
    changed: list[str]
    number: int = omitted()
    restoredFrom: int = omitted()


class Version(WireModel):
    """A version of an agent or tool. `number` is the time when the version was written, in Unix milliseconds.

    `at` is in ISO 8601. `by` is null if the author is unknown. `restoredFrom` is the number of the version that this
    version restored.
    """

    number: int = Field(ge=0)
    at: str
    by: Author | None
    changed: list[str]
    restoredFrom: int = omitted()
