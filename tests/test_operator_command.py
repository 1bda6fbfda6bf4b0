"""The operator's commands: their output, and their effects as seen through the API (§5)."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from moto import mock_aws

from chalicelib import clock, storage
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.http import auth
from chalicelib.workspaces import store
from chalicelib.workspaces.store import NewWorkspace
from infra.cams.commands import cams
from tests.api import Api
from tests.selection import each_value_once, one_of_each

ROOT = Path(__file__).parent.parent
DAY = 24 * 60 * 60
EDGE = "/v2/agents/support"


def run(*arguments: str, answer: str | None = None) -> Result:
    return CliRunner().invoke(cams, arguments, input=answer)


def run_json(*arguments: str) -> Any:
    """Run a command that must succeed; returns its JSON output."""
    ran = run(*arguments, "--json")
    assert ran.exit_code == 0, ran.stderr
    return json.loads(ran.stdout)


def status_of(token: str, path: str = "/v3/agents") -> int:
    """The status of a request with this token, without the credential cache."""
    auth.clear_cache()
    return Api(token).get(path).status


def documents(table: str) -> list[bytes]:
    found = storage.sdk_client("dynamodb").scan(TableName=table)["Items"]
    return [item["document"]["B"] for item in found if "document" in item]


def stored() -> dict[str, Any]:
    database = storage.sdk_client("dynamodb")
    names = database.list_tables()["TableNames"]
    return {name: sorted(database.scan(TableName=name)["Items"], key=repr) for name in names}


@pytest.fixture
def pass_time(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Stop the clock; the fixture advances it by seconds."""
    start, passed = clock.milliseconds(), 0

    def move(seconds: int) -> None:
        nonlocal passed
        passed += seconds

    monkeypatch.setattr(clock, "milliseconds", lambda: start + passed * 1000)
    return move


PassTime = Callable[[int], None]


# ---- workspaces -----------------------------------------------------------------------------------


def test_workspace_create_prints_one_json_object_of_four_members(engine: None) -> None:
    ran = run("workspace", "create", "--name", "Shop", "--json")
    created = json.loads(ran.stdout)
    assert set(created) == {"workspace_id", "workspace_key", "access_token", "workspace_secret"}
    assert (ran.exit_code, ran.stderr) == (0, "")


def test_the_printed_credentials_open_the_workspace(engine: None) -> None:
    created = run_json("workspace", "create", "--name", "Shop")
    assert status_of(created["workspace_key"], "/v2/clients") == 200
    assert status_of(created["access_token"], "/v3/agents") == 200
    assert status_of(created["workspace_secret"], "/v3/agents") == 401


def test_as_text_each_secret_has_a_line_and_a_note_says_to_store_it(engine: None) -> None:
    ran = run("workspace", "create", "--name", "Shop")
    values = {line.rsplit(" ", 1)[0].rstrip(): line.rsplit(" ", 1)[1] for line in ran.stdout.splitlines()}
    assert list(values) == ["workspace id", "workspace key", "access token", "workspace secret"]
    assert tokens.kind(values["workspace key"]) == tokens.WORKSPACE
    assert "only this once" in ran.stderr


def test_workspace_show_prints_name_and_creation_time(engine: None, pass_time: PassTime) -> None:
    workspace_id = run_json("workspace", "create", "--name", "Café")["workspace_id"]
    assert run_json("workspace", "show", workspace_id) == {
        "workspace_id": workspace_id,
        "name": "Café",
        "status": "active",
        "created_at": clock.iso(clock.seconds()),
    }


def test_workspace_list_has_every_workspace_oldest_first(engine: None, pass_time: PassTime) -> None:
    created = []
    for name in ("A", "B", "C"):
        pass_time(1)
        created.append(run_json("workspace", "create", "--name", name)["workspace_id"])
    listed = run_json("workspace", "list")
    assert [(one["workspace_id"], one["name"]) for one in listed] == list(zip(created, "ABC", strict=True))


# ---- issuing --------------------------------------------------------------------------------------


def test_an_issued_key_opens_the_workspace(workspace: NewWorkspace) -> None:
    issued = run_json("key", "issue", "--workspace", workspace.workspace_id, "--name", "ci")
    assert status_of(issued["workspace_key"], "/v2/clients") == 200


def test_an_issued_token_opens_the_v3_routes_only(workspace: NewWorkspace) -> None:
    token = run_json("token", "issue", "--workspace", workspace.workspace_id, "--name", "ci")["access_token"]
    assert (status_of(token, "/v3/agents"), status_of(token, "/v2/clients")) == (200, 403)


def test_an_issued_token_can_be_read_only(workspace: NewWorkspace) -> None:
    arguments = ["--workspace", workspace.workspace_id, "--name", "ci", "--read-only"]
    token = run_json("token", "issue", *arguments)["access_token"]
    assert status_of(token) == 200
    assert Api(token).post("/v3/agents", {"agent": {}}).status == 403


def test_an_issued_token_can_have_scopes(workspace: NewWorkspace) -> None:
    arguments = [
        "--workspace",
        workspace.workspace_id,
        "--name",
        "ci",
        "--scope",
        "leads:read",
        "--scope",
        "agents:read",
    ]
    issued = run_json("token", "issue", *arguments)
    assert (issued["scopes"], issued["read_only"]) == ("agents:read leads:read", True)
    assert status_of(issued["access_token"]) == 200
    assert Api(issued["access_token"]).get("/v3/webhooks").status == 403


@pytest.mark.parametrize("options", [["--scope", "agents:admin"], ["--scope", "agents:read", "--read-only"]])
def test_invalid_scopes_are_a_usage_error(workspace: NewWorkspace, options: list[str]) -> None:
    ran = run("token", "issue", "--workspace", workspace.workspace_id, "--name", "ci", *options)
    assert (ran.exit_code, "scope" in ran.stderr) == (2, True)


def test_an_issued_credential_is_printed_with_its_properties(workspace: NewWorkspace, pass_time: PassTime) -> None:
    arguments = ["--workspace", workspace.workspace_id, "--name", "ci"]
    key, token = run_json("key", "issue", *arguments), run_json("token", "issue", *arguments, "--read-only")
    now = clock.seconds()
    assert set(key) == {"key_id", "workspace_key", "name", "created_at", "expires_at"}
    assert set(token) == {"token_id", "access_token", "name", "read_only", "scopes", "created_at", "expires_at"}
    assert (key["name"], key["created_at"], token["read_only"]) == ("ci", clock.iso(now), True)


@pytest.mark.parametrize(
    ("noun", "options", "lifetime"),
    [
        pytest.param("key", [], 365 * DAY, id="a key for a year"),
        pytest.param("token", [], 30 * DAY, id="a token for 30 days"),
        pytest.param("key", ["--expires-in", "90"], 90, id="seconds"),
        pytest.param("key", ["--expires-in", "90s"], 90, id="seconds by name"),
        pytest.param("token", ["--expires-in", "30m"], 30 * 60, id="minutes"),
        pytest.param("token", ["--expires-in", "24h"], DAY, id="hours"),
        pytest.param("token", ["--expires-in", "7d"], 7 * DAY, id="days"),
    ],
)
@one_of_each(lambda: None)
def test_an_issued_credential_expires_after_its_lifetime(
    workspace: NewWorkspace, pass_time: PassTime, noun: str, options: list[str], lifetime: int
) -> None:
    issued = run_json(noun, "issue", "--workspace", workspace.workspace_id, "--name", "ci", *options)
    token = issued.get("workspace_key") or issued["access_token"]
    end = clock.iso(clock.seconds() + lifetime)
    pass_time(lifetime - 1)
    before = status_of(token)
    pass_time(1)
    assert (before, status_of(token), issued["expires_at"]) == (200, 401, end)


def test_a_key_can_be_issued_without_expiry(workspace: NewWorkspace, pass_time: PassTime) -> None:
    arguments = ["--workspace", workspace.workspace_id, "--name", "ci", "--expires-in", "never"]
    issued = run_json("key", "issue", *arguments)
    pass_time(20 * 365 * DAY)
    assert (issued["expires_at"], status_of(issued["workspace_key"])) == (None, 200)


# ---- rotating and revoking ------------------------------------------------------------------------


def _credential_id(workspace: NewWorkspace, kind: str) -> str:
    (row,) = credentials.list_active(workspace.workspace_id, kind)
    return row.credential_id


class Credential:
    """An existing credential: the command's noun for it, its id, its token, and a path that it opens."""

    def __init__(self, noun: str, workspace: NewWorkspace) -> None:
        self.noun = noun
        self.workspace = ["--workspace", workspace.workspace_id]
        if noun == "agent-key":
            self.id, self.path, self.secret = "support", EDGE, "agent_key"
            answer = Api(workspace.workspace_key).post(EDGE, {"title": "Support"})
            self.token: str = answer.data["SECRET_API_KEY"]
        elif noun == "key":
            self.id, self.path, self.secret = _credential_id(workspace, "workspace"), "/v3/agents", "workspace_key"
            self.token = workspace.workspace_key
        else:
            self.id, self.path, self.secret = _credential_id(workspace, "access"), "/v3/agents", "access_token"
            self.token = workspace.access_token

    def rotate(self, *options: str) -> str:
        """Rotate the credential; returns the new token."""
        new: str = run_json(self.noun, "rotate", self.id, *self.workspace, *options)[self.secret]
        return new

    def statuses(self, *of: str) -> list[int]:
        """The status of a request with each of these tokens."""
        return [status_of(token, self.path) for token in of]


@pytest.fixture(params=["key", "token", "agent-key"])
def credential(request: pytest.FixtureRequest, workspace: NewWorkspace) -> Credential:
    """One credential of each kind that can be rotated and revoked."""
    return Credential(request.param, workspace)


@pytest.mark.parametrize(
    ("options", "overlap"), [([], DAY), (["--overlap", "90"], 90), (["--overlap", "2h"], 7200)], ids=str
)
@one_of_each(lambda: None)
def test_both_credentials_work_during_the_overlap_then_only_the_new_one(
    credential: Credential, pass_time: PassTime, options: list[str], overlap: int
) -> None:
    new = credential.rotate(*options)
    pass_time(overlap - 1)
    during = credential.statuses(credential.token, new)
    pass_time(1)
    assert during == [200, 200]
    assert credential.statuses(credential.token, new) == [401, 200]


@one_of_each(lambda: None)
def test_a_rotation_without_overlap_revokes_the_old_one_at_once(credential: Credential) -> None:
    new = credential.rotate("--overlap", "0")
    assert credential.statuses(credential.token, new) == [401, 200]


def test_a_successor_has_the_rights_of_the_old_one(workspace: NewWorkspace) -> None:
    whose = ["--workspace", workspace.workspace_id]
    issued = run_json("token", "issue", *whose, "--name", "ci", "--read-only", "--expires-in", "7d")
    rotated = run_json("token", "rotate", issued["token_id"], *whose)
    assert (rotated["read_only"], rotated["name"]) == (True, "ci")
    assert Api(rotated["access_token"]).post("/v3/agents", {"agent": {}}).status == 403


def test_a_rotation_prints_both_expiry_times(workspace: NewWorkspace, pass_time: PassTime) -> None:
    whose = ["--workspace", workspace.workspace_id]
    issued = run_json("token", "issue", *whose, "--name", "ci", "--expires-in", "7d")
    rotated = run_json("token", "rotate", issued["token_id"], *whose, "--overlap", "1h")
    now = clock.seconds()
    ends = (rotated["expires_at"], rotated["previous_expires_at"])
    assert ends == (clock.iso(now + 7 * DAY), clock.iso(now + 3600))


@pytest.mark.parametrize(("lifetime", "seconds"), [("7d", 7 * DAY), ("never", None)])
def test_a_repeated_rotation_gives_the_new_credential_its_full_lifetime(
    workspace: NewWorkspace, pass_time: PassTime, lifetime: str, seconds: int | None
) -> None:
    whose = ["--workspace", workspace.workspace_id]
    key_id = run_json("key", "issue", *whose, "--name", "ci", "--expires-in", lifetime)["key_id"]
    run_json("key", "rotate", key_id, *whose)
    end = seconds and clock.iso(clock.seconds() + seconds)
    assert run_json("key", "rotate", key_id, *whose)["expires_at"] == end


def test_a_rotation_changes_only_the_key_in_the_agent_record(api: Api, agent_id: str, workspace: NewWorkspace) -> None:
    before = api.get("/v3/agents/support").data
    made = run_json("agent-key", "rotate", agent_id, "--workspace", workspace.workspace_id)
    after = api.get("/v3/agents/support").data
    assert made == {"agent_id": "support", "agent_key": after["SECRET_API_KEY"]}
    changing = {"SECRET_API_KEY": None, "lastModified": None}
    assert {**after, **changing} == {**before, **changing}


def test_rotating_an_invalid_agent_key_creates_a_valid_one(api: Api, workspace: NewWorkspace) -> None:
    api.post(EDGE, {"SECRET_API_KEY": "hunter2"})
    made = run_json("agent-key", "rotate", "support", "--workspace", workspace.workspace_id)
    assert status_of(made["agent_key"], EDGE) == 200


@one_of_each(lambda: None)
def test_a_revoked_credential_is_rejected(credential: Credential) -> None:
    ran = run(credential.noun, "revoke", credential.id, *credential.workspace, "--yes")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert credential.statuses(credential.token) == [401]


@one_of_each(lambda: None)
def test_a_revoked_credential_leaves_no_row(credential: Credential) -> None:
    run(credential.noun, "revoke", credential.id, *credential.workspace, "--yes")
    assert tokens.fingerprint(credential.token) not in repr(stored())


@one_of_each(lambda: None)
def test_revoking_one_credential_leaves_the_others_valid(credential: Credential, other_workspace: NewWorkspace) -> None:
    others = [Credential(noun, other_workspace) for noun in ("key", "token", "agent-key")]
    run(credential.noun, "revoke", credential.id, *credential.workspace, "--yes")
    assert [other.statuses(other.token) for other in others] == [[200]] * 3


def test_revoking_an_agent_key_clears_the_member(api: Api, agent_id: str, workspace: NewWorkspace) -> None:
    run("agent-key", "revoke", agent_id, "--workspace", workspace.workspace_id, "--yes")
    assert "SECRET_API_KEY" not in api.get("/v3/agents/support").data


def test_revoking_an_agent_key_also_revokes_keys_in_their_overlap(workspace: NewWorkspace) -> None:
    credential = Credential("agent-key", workspace)
    issued = [credential.token, credential.rotate(), credential.rotate()]
    assert credential.statuses(*issued) == [200, 200, 200]
    run("agent-key", "revoke", "support", *credential.workspace, "--yes")
    assert credential.statuses(*issued) == [401, 401, 401]


def test_revoking_an_agent_key_leaves_other_agents_valid(api: Api, workspace: NewWorkspace) -> None:
    credential = Credential("agent-key", workspace)
    other = api.post("/v2/agents/sales", {}).data["SECRET_API_KEY"]
    run("agent-key", "revoke", "support", *credential.workspace, "--yes")
    assert status_of(other, "/v2/agents/sales") == 200


@pytest.mark.parametrize("answer", ["n\n", "\n", ""], ids=["no", "nothing", "no terminal"])
@one_of_each(lambda: None)
def test_revoking_asks_for_confirmation_and_aborts_without_it(credential: Credential, answer: str) -> None:
    before = stored()
    ran = run(credential.noun, "revoke", credential.id, *credential.workspace, answer=answer)
    assert (ran.exit_code, "[y/N]" in ran.output, stored() == before) == (1, True, True)


@one_of_each(lambda: None)
def test_revoking_continues_after_confirmation(credential: Credential) -> None:
    ran = run(credential.noun, "revoke", credential.id, *credential.workspace, answer="y\n")
    assert (ran.exit_code, credential.statuses(credential.token)) == (0, [401])


# ---- listing --------------------------------------------------------------------------------------


def test_a_list_has_the_active_credentials_oldest_first(workspace: NewWorkspace, pass_time: PassTime) -> None:
    whose = ["--workspace", workspace.workspace_id]
    for name, lifetime in (("short", "5s"), ("long", "7d")):
        pass_time(1)
        run_json("key", "issue", *whose, "--name", name, "--expires-in", lifetime)
        run_json("token", "issue", *whose, "--name", name, "--expires-in", lifetime)
    pass_time(10)
    assert [one["name"] for one in run_json("key", "list", *whose)] == ["first key", "long"]
    assert [one["name"] for one in run_json("token", "list", *whose)] == ["first token", "long"]


@pytest.mark.parametrize("noun", ["key", "token"])
def test_a_list_has_the_issued_properties_and_the_time_of_last_use(
    workspace: NewWorkspace, pass_time: PassTime, noun: str
) -> None:
    whose = ["--workspace", workspace.workspace_id]
    issued = run_json(noun, "issue", *whose, "--name", "ci")
    token = issued.pop("workspace_key", None) or issued.pop("access_token")
    pass_time(5)
    status_of(token)
    assert run_json(noun, "list", *whose)[-1] == {**issued, "last_used_at": clock.iso(clock.seconds())}


def test_agent_keys_are_listed_by_agent_with_the_expiry_of_rotated_keys(
    api: Api, agent_id: str, workspace: NewWorkspace, pass_time: PassTime
) -> None:
    pass_time(1)
    whose = ["--workspace", workspace.workspace_id]
    run_json("agent-key", "rotate", "support", *whose)
    now = clock.seconds()
    assert [(one["agent_id"], one["expires_at"]) for one in run_json("agent-key", "list", *whose)] == [
        ("support", clock.iso(now + DAY)),
        ("support", None),
    ]


@each_value_once
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "JSON"])
@pytest.mark.parametrize(
    "command",
    ["workspace list", "workspace show", "key list", "token list", "agent-key list"],
)
def test_no_list_shows_a_secret(workspace: NewWorkspace, command: str, form: list[str]) -> None:
    agent = Credential("agent-key", workspace)
    secrets = [*workspace[1:], agent.token, agent.rotate(), Credential("key", workspace).rotate()]
    whose = {"workspace list": [], "workspace show": [workspace.workspace_id]}.get(command, agent.workspace)
    ran = run(*command.split(), *whose, *form)
    assert ran.exit_code == 0
    shown = [secret for secret in secrets for part in (secret[-40:], tokens.fingerprint(secret)) if part in ran.output]
    assert shown == []


def test_as_text_a_list_is_a_table(workspace: NewWorkspace) -> None:
    heading, row = run("token", "list", "--workspace", workspace.workspace_id).stdout.splitlines()
    assert heading.split("  ")[0] == "token id"
    assert heading.index("read only") == row.index("no  ")
    assert row.endswith("never")


def test_as_text_an_empty_list_says_so(workspace: NewWorkspace) -> None:
    assert run("agent-key", "list", "--workspace", workspace.workspace_id).stdout == "There are none.\n"


def test_a_name_from_http_cannot_send_terminal_escape_sequences(api: Api, workspace: NewWorkspace) -> None:
    api.post("/v3/tokens", {"token": {"name": "\x1b[2Jgone\r\n\x9b"}})
    shown = run("token", "list", "--workspace", workspace.workspace_id).stdout
    assert "?[2Jgone???" in shown


# ---- the data key ---------------------------------------------------------------------------------


def test_after_a_data_key_rotation_new_documents_use_the_new_key_and_old_ones_stay_readable(
    api: Api, agent_id: str
) -> None:
    (old,) = documents("cams-agents")
    assert run("data-key", "rotate").exit_code == 0
    api.post("/v2/agents/new", {})
    (new,) = set(documents("cams-agents")) - {old}
    assert new[1:5] != old[1:5]
    assert api.get("/v3/agents/support").data["title"] == "Support"


# ---- errors ---------------------------------------------------------------------------------------

UNKNOWN = [
    ("workspace", "show", "unknown"),
    ("key", "issue", "--workspace", "unknown", "--name", "ci"),
    ("key", "list", "--workspace", "unknown"),
    ("token", "issue", "--workspace", "unknown", "--name", "ci"),
    ("token", "list", "--workspace", "unknown"),
    ("agent-key", "list", "--workspace", "unknown"),
    *(
        (noun, verb, name, "--workspace", whose)
        for noun in ("key", "token", "agent-key")
        for verb in ("rotate", "revoke")
        for name, whose in (("unknown", "WORKSPACE"), ("OWN", "unknown"), ("OWN", "OTHER"))
    ),
]


@pytest.mark.parametrize("command", UNKNOWN, ids=" ".join)
@one_of_each(lambda command: command[:1])
def test_an_unknown_id_is_reported_in_one_line_and_changes_nothing(
    workspace: NewWorkspace, other_workspace: NewWorkspace, command: tuple[str, ...]
) -> None:
    own = Credential(command[0], workspace).id if "OWN" in command else ""
    names = {"OWN": own, "WORKSPACE": workspace.workspace_id, "OTHER": other_workspace.workspace_id}
    before = stored()
    ran = run(*(names.get(word, word) for word in command))
    assert (ran.exit_code, ran.stdout) == (1, "")
    assert ran.stderr.startswith("Error: There is no such ")
    assert len(ran.stderr.splitlines()) == 1
    assert stored() == before


@pytest.mark.parametrize(("noun", "other"), [("key", "token"), ("token", "key")])
@pytest.mark.parametrize("verb", ["rotate", "revoke"])
def test_a_command_accepts_only_its_own_kind(workspace: NewWorkspace, noun: str, other: str, verb: str) -> None:
    credential = Credential(other, workspace)
    ran = run(noun, verb, credential.id, *credential.workspace)
    assert (ran.exit_code, ran.stderr) == (1, "Error: There is no such credential.\n")
    assert credential.statuses(credential.token) == [200]


@pytest.mark.parametrize("noun", ["key", "token"])
def test_a_token_given_as_an_id_is_not_echoed(workspace: NewWorkspace, noun: str) -> None:
    ran = run(noun, "revoke", workspace.workspace_key, "--workspace", workspace.workspace_id)
    assert ran.exit_code == 1
    assert workspace.workspace_key not in ran.output


def test_missing_tables_are_reported_in_one_line() -> None:
    with mock_aws():
        ran = run("workspace", "create", "--name", "Shop")
    assert (ran.exit_code, ran.stderr) == (
        1,
        "Error: The service's tables do not exist; create them first.\n",
    )


def test_an_aws_error_is_reported_in_one_line(engine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAMS_ENCRYPTION_KEY", "alias/none")
    ran = run("data-key", "rotate")
    assert (ran.exit_code, len(ran.stderr.splitlines())) == (1, 1)
    assert "NotFoundException" in ran.stderr


_REGION = {"AWS_DEFAULT_REGION": "eu-west-1"}
_LOGIN = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        pytest.param({}, "You must specify a region.", id="no region"),
        pytest.param(_REGION, "Unable to locate credentials", id="no credentials"),
        pytest.param(
            {**_REGION, **_LOGIN, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"},
            'Could not connect to the endpoint URL: "http://127.0.0.1:9/"',
            id="nothing listens",
        ),
    ],
)
def test_an_unreachable_database_is_reported_in_one_line(environment: dict[str, str], reason: str) -> None:
    nothing = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true"}
    command = [sys.executable, "-m", "infra.cams", "workspace", "list"]
    ran = subprocess.run(command, cwd=ROOT, env=nothing | environment, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", f"Error: {reason}\n")


def test_a_bug_is_not_hidden(engine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(store, "list_all", fail)
    assert isinstance(run("workspace", "list").exception, ZeroDivisionError)


@one_of_each(lambda option: option[:1])
@pytest.mark.parametrize(
    ("command", "option"),
    [
        *((("token", "issue", "--name", "ci"), ("--expires-in", value)) for value in ("0", "366d", "never", "1.5h")),
        *((("key", "issue", "--name", "ci"), ("--expires-in", value)) for value in ("0s", "9999999999d", "x", "")),
        *((("key", "rotate", "x"), ("--overlap", value)) for value in ("-1", "366d", "never", "1w", "٣d")),
        *((("key", "issue"), ("--name", value)) for value in ("", "  ", "n" * 201, "a\nb", "\udcff")),
        (("key", "list"), ("--workspace", "")),
        (("workspace", "show"), ("",)),
        (("key", "rotate"), ("",)),
        (("agent-key", "rotate"), ("",)),
    ],
    ids=lambda words: " ".join(words).encode("ascii", "backslashreplace").decode()[:40],
)
def test_an_invalid_value_is_rejected_before_any_request(command: tuple[str, ...], option: tuple[str, ...]) -> None:
    whose = [] if "--workspace" in option or command[0] == "workspace" else ["--workspace", "x"]
    ran = run(*command, *option, *whose)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert "Error: Invalid value for" in ran.stderr


# ---- help -----------------------------------------------------------------------------------------


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


EVERY = dict(commands(cams))


@one_of_each(lambda path: len(path))
@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_command_has_a_one_sentence_summary(path: tuple[str, ...]) -> None:
    sentence = EVERY[path].get_short_help_str(limit=60)
    assert sentence.endswith(".")
    assert "..." not in sentence


@one_of_each(lambda path: len(path))
@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_option_has_a_help_text(path: tuple[str, ...]) -> None:
    options = [one for one in EVERY[path].params if isinstance(one, click.Option)]
    assert [one.name for one in options if not one.help] == []


def test_every_command_that_prints_data_can_print_json() -> None:
    without = {
        " ".join(path)
        for path, one in EVERY.items()
        if not isinstance(one, click.Group) and not any("--json" in option.opts for option in one.params)
    }
    assert without == {
        "key revoke", "token revoke", "agent-key revoke", "data-key rotate", "tallies recount",
        "workspace suspend", "workspace resume", "workspace export", "workspace import", "conversations export",
    }  # fmt: skip
