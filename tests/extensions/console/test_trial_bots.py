"""The bots on the page for trying an agent: whether their webhooks fail, before a message and on the open page."""

import html
import re
from itertools import pairwise

import pytest

from chalicelib.extensions.console.agent_pages import trial_bots
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.capacity import metered
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser, live_path
from tests.extensions.console.rows import fail_delivery, queue_event

TRY = "/agents/support/try"
FAILURE = "The bot's webhook fails: It was not sent in time."


def add_hook(api: Api, **members: object) -> str:
    hook = {"url": "https://bot.example.com/cams", "events": ["message_received"], **members}
    return str(api.post("/v3/webhooks", {"webhook": hook}).data["id"])


def fail(workspace: NewWorkspace, hook_id: str, kind: str = "message_received") -> None:
    fail_delivery(workspace.workspace_id, hook_id, queue_event(workspace.workspace_id, hook_id, kind))


def texts(page: str) -> str:
    """Return a page's texts without tags."""
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", page)).split()).replace(" :", ":")


def live(page: str, convo_id: str) -> str:
    return f"/convos/support/{convo_id}{live_path(page)}"


def start(browser: Browser, api: Api, text: str = "Are you open?") -> tuple[str, str]:
    """Start a trial. Return its page and its conversation's id."""
    page = browser.submit(browser.open(TRY), "/try", {"text": text, "person": "on"}).text
    return page, api.get("/v3/agents/support/convos").data[0]["ID"]


@pytest.mark.parametrize("kind", ["message_received", "webhook_test"])
def test_a_trial_warns_before_the_first_message_that_a_bot_fails(
    operator: Browser, workspace: NewWorkspace, workspace_api: Api, kind: str
) -> None:
    """No page has checked the webhooks before, and failed tests count."""
    hook_id = add_hook(workspace_api)
    page = texts(operator.open(TRY).text)
    assert "Bot connected" in page and "Then write the answer" not in page
    fail(workspace, hook_id, kind)
    page = operator.open(TRY).text
    assert FAILURE in texts(page) and "write the answer yourself, with “Answer as the agent”" in texts(page)
    assert "Bot connected" not in page and "Last delivery failed" in page
    assert f'href="{operator.home}/settings/webhooks/{hook_id}">Open the webhook</a>' in page
    workspace_api.patch(f"/v3/webhooks/{hook_id}", {"webhook": {"enabled": False}})
    assert FAILURE not in texts(operator.open(TRY).text)


def test_an_open_trial_shows_once_that_the_bot_failed(
    operator: Browser, workspace: NewWorkspace, workspace_api: Api
) -> None:
    hook_id = add_hook(workspace_api)
    page, convo_id = start(operator, workspace_api)
    assert 'value="answer" class="second">' in page and FAILURE not in texts(page)
    assert operator.open(live(page, convo_id)).status == 204
    fail(workspace, hook_id)
    news = operator.open(live(page, convo_id))
    assert news.status == 200 and FAILURE in texts(news.text) and "Last delivery failed" in news.text
    assert {"bot", "failures", "receivers"} < {*re.findall('data-part="([a-z]+)"', news.text)}
    assert operator.open(live(news.text, convo_id)).status == 204
    again = operator.open(f"{TRY}?convo={convo_id}").text
    assert 'value="answer">' in again  # the bot will not answer, so this is the next step
    assert operator.open(live(again, convo_id)).status == 204
    workspace_api.delete(f"/v3/webhooks/{hook_id}")
    assert "No bot connected" in operator.open(live(news.text, convo_id)).text


def test_only_a_recent_trial_of_an_operator_watches_the_bot(
    operator: Browser, signed_in: Browser, workspace: NewWorkspace, workspace_api: Api, pass_time: PassTime
) -> None:
    hook_id = add_hook(workspace_api)
    page, convo_id = start(operator, workspace_api)
    workspace_api.post("/agents/support/interact/ann/state", {"metadata": {"state": "requested_chat"}})
    visitor = operator.open("/convos/support/ann").text
    fail(workspace, hook_id)
    assert operator.open(live(visitor, "ann")).status == 204
    assert signed_in.open(live(page, convo_id)).status == 204
    pass_time(trial_bots._WATCHED_SECONDS + 2)
    operator.open("/account")  # caches the session
    with metered() as meter:
        assert operator.open(live(page, convo_id)).status == 204
    assert meter.requests.total() == 1


def test_an_answered_trial_does_not_read_the_deliveries(operator: Browser, workspace_api: Api) -> None:
    add_hook(workspace_api)
    _, convo_id = start(operator, workspace_api)
    page = operator.open(f"{TRY}?convo={convo_id}")
    answered = operator.submit(page, "/try", {"text": "Yes.", "action": "answer", "convo": convo_id})
    with metered() as meter:
        assert operator.open(live(answered.text, convo_id)).status == 204
    assert meter.requests.total() == 1


def test_a_trial_checks_the_webhooks_that_it_names(operator: Browser, workspace_api: Api) -> None:
    """A paused webhook and a fourth active webhook are not checked."""
    add_hook(workspace_api, enabled=False)
    operator.open(TRY)  # caches the session
    requests = []
    for _ in range(5):
        with metered() as meter:
            assert operator.open(TRY).status == 200
        requests.append(meter.requests.total())
        add_hook(workspace_api)
    assert [after - before for before, after in pairwise(requests)] == [9, 9, 9, 0]
