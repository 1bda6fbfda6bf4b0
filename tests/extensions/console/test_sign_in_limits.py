"""Limits on sign-in attempts: which attempts share a counter, and what an attempt costs."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from chalicelib import storage
from chalicelib.credentials import tokens
from chalicelib.extensions.console.access import session_store, sessions
from chalicelib.extensions.console.access.session_store import MAX_ATTEMPTS, MAX_FAILURES, WINDOW, TooManyAttempts
from chalicelib.storage import keyring
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.capacity import metered
from tests.conftest import PassTime
from tests.costs import check
from tests.direct_writes import put_now
from tests.engine_requests import counted
from tests.engines import clear_caches
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.moto_tables import items, snapshot

ADDRESS, BROWSER_ADDRESS = "203.0.113.7", "127.0.0.1"
UNKNOWN_WORKSPACE = "01hzzzzzzzzzzzzzzzzzzzzzzz"
# Emails that look like a joined key. While `#` joined the parts, ten attempts locked out both an address and an email.
JOINED = ("bo@acme.test#203.0.113.7", "with a key#203.0.113.7", "key and address", '"bo@acme.test","203.0.113.7"')


def outcome(workspace_id: str, fields: dict[str, str], address: str = ADDRESS) -> str:
    """Try to sign in; return the error's name, or an empty text if a session starts."""
    try:
        sessions.sign_in(workspace_id, fields, address)
    except (sessions.WrongSignIn, TooManyAttempts) as error:
        return type(error).__name__
    return ""


def fail(workspace: NewWorkspace, count: int, address: str = ADDRESS, first: int = 0) -> list[str]:
    """Try to sign in with different emails; return the outcomes."""
    emails = (f"{number}@spray.test" for number in range(first, first + count))
    return [outcome(workspace.workspace_id, {"email": one, "password": "x"}, address) for one in emails]


def store_failures(count: int, address: str = ADDRESS) -> None:
    """Store an address's counter as if this number of attempts had failed."""
    row = session_store._failures(session_store.network_of(address))
    row.tried = count
    put_now(row)


def test_no_email_uses_up_the_attempts_of_another_email_and_address(
    workspace: NewWorkspace, workspace_api: Api
) -> None:
    for email in JOINED:
        for _ in range(MAX_ATTEMPTS):
            attempt = {"email": email, "password": "x"}
            assert outcome(workspace.workspace_id, attempt, "192.0.2.1") == "WrongSignIn"
    own = {"email": "bo@acme.test", "password": PASSWORD}
    assert [outcome(workspace.workspace_id, one) for one in (own, {"key": workspace.workspace_key})] == ["", ""]


def test_the_parts_of_a_counter_are_never_joined() -> None:
    parts = [
        ("a", "b#c"),
        ("a#b", "c"),
        ("a", "b", "c"),
        ("a#b#c",),
        ('a","b', "c"),
        ("a", 'b","c'),
        ("", "a"),
        ("a", ""),
    ]
    assert len({session_store._row(*one).token_hash for one in parts}) == len(parts)


def test_an_address_has_100_failures_in_five_minutes(
    browser: Browser, workspace: NewWorkspace, pass_time: PassTime
) -> None:
    store_failures(MAX_FAILURES - 2, BROWSER_ADDRESS)
    answers = [browser.sign_in(f"{number}@spray.test", "x") for number in range(4)]
    assert (MAX_FAILURES, [one.status for one in answers]) == (100, [401, 401, 429, 429])
    seconds = int(answers[-1].headers["retry-after"])
    assert 0 < seconds <= WINDOW
    before = snapshot()
    for fields in ({"email": "bo@acme.test", "password": PASSWORD}, {"key": workspace.workspace_key}):
        assert browser.post("", fields).status == 429
    assert snapshot() == before
    pass_time(seconds)
    assert browser.sign_in("bo@acme.test", PASSWORD).status == 200


def test_no_header_changes_the_address(browser: Browser) -> None:
    statuses = []
    store_failures(MAX_FAILURES - 2, BROWSER_ADDRESS)
    for number in range(3):
        forged = {
            "X-Forwarded-For": f"192.0.2.{number}",
            "X-Real-IP": f"192.0.2.{number}",
            "Forwarded": f"for={number}",
        }
        statuses.append(browser.post("", {"email": f"{number}@spray.test", "password": "x"}, **forged).status)
    assert statuses == [401, 401, 429]


def test_an_ipv6_customer_is_one_address(workspace: NewWorkspace) -> None:
    store_failures(MAX_FAILURES - 1, "2001:db8:0:1::1")
    assert fail(workspace, 1, "2001:db8:0:1:ffff::2", 200) == ["WrongSignIn"]
    assert fail(workspace, 1, "2001:db8:0:1:8000::3", 300) == ["TooManyAttempts"]
    assert fail(workspace, 1, "2001:db8:0:2::1", 400) == ["WrongSignIn"]


def test_the_network_of_an_address() -> None:
    networks = {
        "::ffff:192.0.2.1": "192.0.2.1",
        "fe80::1%eth0": "fe80::",
        "2001:DB8::0:1": "2001:db8::",
        "192.0.2.1": "192.0.2.1",
        "": "",
        "unknown": "unknown",
    }
    assert {address: session_store.network_of(address) for address in networks} == networks


def test_only_failures_count_for_an_address(workspace: NewWorkspace, workspace_api: Api) -> None:
    assert outcome(workspace.workspace_id, {"email": "bo@acme.test", "password": PASSWORD}) == ""
    assert storage.find(session_store.AttemptRow, session_store.failures_key(ADDRESS).partition) is None
    assert fail(workspace, 2) == ["WrongSignIn"] * 2
    failures = storage.find(session_store.AttemptRow, session_store.failures_key(ADDRESS).partition)
    assert failures is not None and failures.tried == 2


def test_failures_count_across_workspaces_emails_and_keys(workspace: NewWorkspace, workspace_api: Api) -> None:
    other = workspaces.create("other")
    store_failures(MAX_FAILURES - 2)
    fail(workspace, 1)
    assert outcome(other.workspace_id, {"key": "wrong"}) == "WrongSignIn"
    assert outcome(workspace.workspace_id, {"email": "bo@acme.test", "password": PASSWORD}) == "TooManyAttempts"
    assert outcome(workspace.workspace_id, {"email": "bo@acme.test", "password": PASSWORD}, "192.0.2.1") == ""


def test_a_right_password_is_refused_if_the_failures_are_used_up_at_the_same_time(
    workspace: NewWorkspace, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attacker cannot get more attempts by sending all attempts at once."""
    of_client = session_store.of_client

    def fail_first(*arguments: Any) -> Any:
        store_failures(MAX_FAILURES)
        return of_client(*arguments)

    monkeypatch.setattr(session_store, "of_client", fail_first)
    before = len(items()["cams-workspaces"])
    assert outcome(workspace.workspace_id, {"email": "bo@acme.test", "password": PASSWORD}) == "TooManyAttempts"
    assert len(items()["cams-workspaces"]) == before  # no session starts


def test_a_flood_in_parallel_has_no_more_failures(workspace: NewWorkspace) -> None:
    store_failures(MAX_FAILURES - 5)
    with ThreadPoolExecutor(8) as pool:
        outcomes = [*pool.map(lambda number: fail(workspace, 1, ADDRESS, number)[0], range(16))]
    assert outcomes.count("WrongSignIn") == 5


def test_an_unknown_workspace_stores_nothing(workspace: NewWorkspace) -> None:
    before = items()
    for fields in ({"email": "a@b.test", "password": "x"}, {"key": "x"}, {"key": workspace.workspace_key}):
        assert outcome(UNKNOWN_WORKSPACE, fields) == "WrongSignIn"
    assert items() == before
    assert Browser(UNKNOWN_WORKSPACE).sign_in("a@b.test", "x").status == 401


def test_known_and_unknown_emails_cost_the_same(browser: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/kim", {"email": "kim@acme.test"})
    costs = {}
    for email in ("bo@acme.test", "kim@acme.test", "nobody@acme.test", "", " "):
        with metered() as meter:
            assert browser.sign_in(email, "wrong").status == 401
        costs[email] = (dict(meter.requests), meter.reads, meter.writes)
        check("failed sign-in", meter)
    assert len({str(one) for one in costs.values()}) == 1, costs


def test_known_and_unknown_emails_cost_the_same_in_a_new_process(browser: Browser, workspace_api: Api) -> None:
    """The first attempt always loads the data key, even if there is no client to decrypt."""
    costs = []
    for email in ("bo@acme.test", "nobody@acme.test"):
        clear_caches()
        with metered() as meter, counted() as requests:
            assert browser.sign_in(email, "wrong").status == 401
        costs.append((requests, meter.reads, meter.writes))
    assert costs == [({"BatchGetItem": 2, "GetItem": 2, "UpdateItem": 3, "Decrypt": 1}, 5.5, 3)] * 2


def test_what_still_costs_more_with_a_known_email(browser: Browser, workspace_api: Api) -> None:
    """A client larger than 4 KB costs more, as does a client that is encrypted with an older data key."""
    workspace_api.post("/v2/clients/bo", {"name": "".join(map(chr, range(0x4E00, 0x4E00 + 15_000)))})
    with metered() as meter:
        assert browser.sign_in("bo@acme.test", "wrong").status == 401
    assert (meter.total, meter.reads, meter.writes) == (6, 11.5, 3)
    keyring.rotate()
    clear_caches()
    with counted() as requests:
        assert browser.sign_in("bo@acme.test", "wrong").status == 401
    assert requests == {"BatchGetItem": 2, "GetItem": 3, "UpdateItem": 3, "Decrypt": 2}


def test_the_rows_of_attempts_expire_with_their_window(workspace: NewWorkspace) -> None:
    before = {one["token_hash"]["S"] for one in items()["cams-credentials"]}
    fail(workspace, 1)
    new = [one for one in items()["cams-credentials"] if one["token_hash"]["S"] not in before]
    assert len(new) == 3
    assert all({*one} == {"token_hash", "tried", "expires_at"} for one in new)


def test_no_counter_has_the_hash_of_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counters share a table with the credentials, and callers choose the counted texts."""
    hashed: list[str] = []
    monkeypatch.setattr(tokens, "fingerprint", lambda text: hashed.append(text) or "hash")
    session_store._row("address", "203.0.113.7")
    assert [tokens.is_well_formed(text) for text in hashed] == [False]
