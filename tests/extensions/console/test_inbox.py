"""The inbox in the console: the tabs with their counts, the rows, and the list beside a transcript."""

import re
from html import escape

import pytest

from chalicelib import storage
from chalicelib.conversations import store
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.builders import state_body
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD


@pytest.fixture
def signed_in(browser: Browser, workspace_api: Api) -> Browser:
    """Return the browser of a client who sees two agents."""
    workspace_api.post("/v2/orgs/acme", {"name": "Acme Travel", "widgetIDs": ["support", "sales"]})
    workspace_api.post("/v2/agents/sales", {"title": "Sales desk"})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


def converse(api: Api, agent_id: str, name: str, state: str | None, assignee: str | None = None) -> None:
    """Create a conversation whose id is the visitor's name."""
    body = state_body(f"Hello from {name}") | {"metadata": {"userName": name, **({"state": state} if state else {})}}
    assert api.post(f"/agents/{agent_id}/interact/{name}/state", body).status == 200
    if assignee:
        to = {"assignToUserId": assignee, "state": state}
        assert api.post(f"/v3/agents/{agent_id}/convos/{name}/assign", to).status == 200


def names_in(page: Answer) -> list[str]:
    """Return the names in the list of conversations, in order."""
    listed = page.text.partition('id="chat"')[0]  # a transcript follows the list
    return re.findall(r"<strong>([^<]*)</strong>", re.sub("</?mark>", "", listed))


def tab_counts(page: Answer) -> list[str]:
    """Return the numbers at the tabs."""
    return re.findall(r' <span class="count">([^<]*)</span>', page.text)


def test_the_tabs_list_and_count_the_conversations_of_all_agents(
    signed_in: Browser, workspace: NewWorkspace, workspace_api: Api, pass_time: PassTime
) -> None:
    for name, agent_id, state, assignee in (
        ("Ann", "support", "requested_chat", None),
        ("Bea", "sales", "human-chatting", "bo"),
        ("Cor", "sales", "requested_chat", "bo"),
        ("Dov", "support", "ended_chat", "bo"),
        ("Eve", "sales", "ai-chatting", None),
        ("Fay", "other", "requested_chat", "bo"),
    ):
        pass_time(60)
        converse(workspace_api, agent_id, name, state, assignee)
    for tab, names in (
        ("waiting", ["Ann", "Bea", "Cor"]),
        ("mine", ["Cor", "Bea"]),
        ("all", ["Eve", "Dov", "Cor", "Bea", "Ann"]),
    ):
        page = signed_in.open(f"/convos?tab={tab}")
        assert (names_in(page), tab_counts(page)) == (names, ["3", "2", "5"])
    assert names_in(signed_in.open("/convos?q=hello from c")) == ["Cor"]
    filtered = signed_in.open("/convos?tab=waiting&agent=support&q=HELLO&tag=")
    assert (names_in(filtered), tab_counts(filtered)) == (["Ann"], ["3", "2"])
    assert '?tab=all&amp;q=HELLO">Search all messages for “HELLO”<' in filtered.text
    assert "No conversations match" in signed_in.open("/convos?tab=mine&tag=refund").text
    nothing = signed_in.open("/convos?tab=mine&q=refund").text
    assert nothing.count('class="button" href="' + signed_in.home + '/convos?tab=all&amp;q=refund">') == 1
    assert signed_in.open(f"/convos?tab=mine&q={'x' * 201}").status == 400
    operator = Browser(workspace.workspace_id)
    operator.start_session(key=workspace.workspace_key)
    answer = Api().call("GET", f"{operator.home}/convos?tab=mine", None, {"Cookie": operator.cookie})
    # An operator is not a client.
    assert (answer.status, answer.headers["location"].partition("/convos")[2]) == (303, "?missing=mine")
    page = operator.open("/convos?tab=mine")
    assert names_in(page) == [] and page.text.count('class="button second" href') == 1
    reason = "Conversations cannot be assigned to a workspace key"
    page_of_all = operator.open("/convos?tab=none")
    assert reason in page.text and reason not in page_of_all.text
    assert (names_in(page_of_all), tab_counts(page_of_all)) == (["Ann", "Cor", "Fay"], ["3", "6"])


def test_a_row_shows_the_agent_the_assignee_and_a_long_wait(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    workspace_api.post("/v2/clients/bo", {"name": "Bo de Vries"})
    converse(workspace_api, "sales", "Ann", "requested_chat", "bo")
    pass_time(3_600)
    page = signed_in.open("/convos").text
    assert 'class="of">Sales desk<' in page and 'title="Assigned to Bo de Vries"' in page and ">BV<" in page
    assert "Hello from Ann" in page and 'data-as="ago">' in page and "Over 1 hour" not in page
    pass_time(1)
    page = signed_in.open("/convos").text
    assert '<li class="waits">' in page and "Over 1 hour" in page and ">waits 1 hr</time>" in page


def test_a_row_says_how_long_a_conversation_waits(signed_in: Browser, workspace_api: Api, pass_time: PassTime) -> None:
    converse(workspace_api, "sales", "Ann", "requested_chat")
    for hours, text in ((2, "2 hr"), (21, "23 hr"), (1, "1 day"), (24, "2 days"), (1, "2 days")):
        pass_time(hours * 3_600)
        signed_in.start_session(email="bo@acme.test", password=PASSWORD)
        late = " late" if "day" in text else ""
        for path, row in (("/convos", f'<li class="waits{late}">'), ("/overview", f'<li class="long{late}">')):
            page = signed_in.open(path).text
            assert f">waits {text}</time>" in page and row in page
        assert f'class="waited{late or " long"}"><time' in signed_in.open("/convos/sales/Ann").text


def test_a_button_in_a_row_assigns_the_conversation_to_the_person(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "sales", "Ann", "requested_chat")
    converse(workspace_api, "sales", "Bea", "requested_chat", "bo")
    page = signed_in.open("/convos")
    (button,) = re.findall(
        '<button class="second claim" form="own" name="([^"]*)" value="on" aria-label="([^"]*)"', page.text
    )
    assert button == ("pick.sales/Ann", "Assign to me: Ann")
    (form,) = re.findall('<form id="own" .*?</form>', page.text)
    fields = dict(re.findall('name="([^"]*)" value="([^"]*)"', form))
    done = signed_in.post("/convos", {**fields, button[0]: "on"})
    assert "Conversations assigned: 1." in done.text
    assert names_in(signed_in.open("/convos?tab=mine")) == ["Ann", "Bea"]  # both wait
    assert 'id="own"' not in signed_in.open("/convos/sales/Ann").text


def test_the_overview_shows_the_assignee_of_a_waiting_conversation(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "support", "Ann", "requested_chat", "bo")
    page = signed_in.open("/overview").text
    assert page.count('title="Assigned to Bo de Vries"') == 1 and page.count(">Answer</span></a>") == 1


def test_a_visitor_who_writes_again_keeps_the_place_and_the_wait(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    converse(workspace_api, "support", "Ann", "requested_chat")
    pass_time(60)
    converse(workspace_api, "support", "Bea", "requested_chat")
    pass_time(3_541)
    converse(workspace_api, "support", "Ann", None)
    page = signed_in.open("/convos")
    assert names_in(page) == ["Ann", "Bea"]
    assert page.text.count('class="waits"') == 1


def test_the_list_is_beside_the_transcript_and_the_title_has_the_number(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "support", "Ann", "requested_chat")
    converse(workspace_api, "sales", "Bea", "human-chatting", "bo")
    reply = {"messages": [{"from": "bot", "item": {"text": "Hello", "sender": "Bo de Vries"}}]}
    workspace_api.post("/v3/agents/sales/convos/Bea/messages", reply)
    page = signed_in.open("/convos/support/Ann")
    assert (names_in(page), tab_counts(page)) == (["Ann"], ["1", "1"])
    assert '/convos/support/Ann" aria-current="true"' in page.text
    page = signed_in.open("/convos/support/Ann?tab=mine")
    assert names_in(page) == ["Ann", "Bea"] and '/convos/sales/Bea?tab=mine"' in page.text
    page = signed_in.submit(page, "/convos/support/Ann?tab=mine", {"action": "take"})
    assert sorted(names_in(page)) == ["Ann", "Bea"]  # the page after an action keeps the tab
    workspace_api.patch("/v3/agents/support/convos/Ann", {"conversation": {"state": "requested_chat"}})
    for path in ("/convos", "/convos/support/Ann"):
        page = signed_in.open(path)
        assert "<title>(1) " in page.text
    assert re.search(r"data-waiting=\"[^\"]*\" title=\"[^\"]*\">1</span>", page.text)
    workspace_api.patch("/v3/agents/support/convos/Ann", {"conversation": {"state": "ended_chat"}})
    page = signed_in.open("/convos")
    assert "<title>Conversations</title>" in page.text and "hidden>0</span>" in page.text


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("?tab=all&agent=sales", ["Cor", "Bea"]),
        ("?tab=waiting&q=from+a", ["Ann"]),
        ("?tab=mine&agent=sales", ["Bea"]),
        ("?tab=waiting&tag=%22%3E%3Cb%3E", []),
    ],
)
def test_an_open_conversation_keeps_the_list(
    query: str, names: list[str], signed_in: Browser, workspace_api: Api
) -> None:
    converse(workspace_api, "support", "Ann", "requested_chat")
    converse(workspace_api, "sales", "Bea", "human-chatting", "bo")
    converse(workspace_api, "sales", "Cor", "ended_chat")
    listed = signed_in.open(f"/convos{query}")
    page = signed_in.open(f"/convos/support/Ann{query}")
    extra = [] if "Ann" in names else ["Ann"]  # the open conversation
    assert (names_in(listed), names_in(page)) == (names, extra + names)
    assert all(f'/{name}{escape(query)}"' in listed.text for name in names)
    assert f'class="back" href="{signed_in.home}/convos{escape(query)}"' in page.text
    addresses = re.findall(r'data-inbox="([^"]*)"', page.text)
    assert addresses == ([] if "q=" in query else [f"{signed_in.home}/inbox{escape(query)}&amp;beside=support/Ann"])
    assert "<b>" not in page.text
    page = signed_in.submit(page, f"/convos/support/Ann{query}", {"action": "take"})
    assert f'class="back" href="{signed_in.home}/convos{escape(query)}"' in page.text


def test_a_conversation_opened_from_a_search_keeps_the_results(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "support", "Ann", "requested_chat")
    for name in ("Cor", "Dov"):
        converse(workspace_api, "sales", name, "ended_chat")
    query = "?tab=all&agent=sales&q=from"
    listed = signed_in.open(f"/convos{query}")
    page = signed_in.open(f"/convos/sales/Cor{query}")
    assert names_in(page) == names_in(listed) == ["Dov", "Cor"] and "<mark>from</mark> Cor" in page.text
    assert f'/convos/sales/Cor{escape(query)}#match" aria-current="true"' in page.text and "data-inbox" not in page.text
    assert 'type="search" maxlength="200"' in page.text and 'value="from"></div>' in page.text
    page = signed_in.open(f"/convos/support/Ann{query}")  # not a result
    assert names_in(page) == ["Ann", "Dov", "Cor"] and f'/Ann{escape(query)}#match" aria-current="true"' in page.text
    assert f'class="back" href="{signed_in.home}/convos{escape(query)}"' in page.text


def test_an_invalid_filter_of_the_list_is_an_error_of_the_conversation(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "support", "Ann", "requested_chat")
    assert signed_in.open("/convos/support/Ann?from=yesterday").status == 400
    assert signed_in.open("/convos/support/Ann?tab=all&cursor=x").status == 400


def test_a_row_of_the_tab_all_shows_the_state(signed_in: Browser, workspace_api: Api, pass_time: PassTime) -> None:
    def states() -> list[tuple[str, str]]:
        return re.findall(r'<em class="state ([^"]*)">([^<]*)</em>', signed_in.open("/convos?tab=all").text)

    for name, state in (("Ann", "requested_chat"), ("Bea", "human-chatting"), ("Cor", "ended_chat")):
        converse(workspace_api, "sales", name, state)
        pass_time(1)
    converse(workspace_api, "sales", "Dov", None)
    converse(workspace_api, "sales", "Eve", "<b>own")
    expected = [
        ("", "&lt;b&gt;own"),
        ("ai-chatting", "AI"),
        ("ended_chat", "Ended"),
        ("human-chatting due", "Unanswered"),
        ("requested_chat", "Waiting"),
    ]
    assert sorted(states()) == expected
    pass_time(3_601)
    page = signed_in.open("/convos?tab=all").text
    assert sorted(states()) == expected and "Over 1 hour" in page
    assert names_in(signed_in.open("/convos?tab=waiting")) == ["Ann", "Bea"]
    assert signed_in.open("/convos?tab=waiting").text.count('class="state') == 1


def test_a_row_names_the_author_of_the_newest_message(signed_in: Browser, workspace_api: Api) -> None:
    def previews() -> list[str]:
        page = signed_in.open("/convos?tab=all").text
        assert signed_in.open("/convos/sales/Ann").text.count('class="preview"') == 2
        return re.findall(r'class="preview">(?:<em>([^<]*)</em>)?', page)

    converse(workspace_api, "sales", "Ann", "requested_chat")
    workspace_api.patch("/v3/agents/sales/convos/Ann", {"conversation": {"userName": "Ann <i> Jansen", "match": "x"}})
    workspace_api.post("/v3/agents/sales/convos", {"conversation": {"title": "empty"}})
    nameless = state_body("Hello") | {"metadata": {"state": "requested_chat"}}
    workspace_api.post("/agents/support/interact/anonymous/state", nameless)
    assert previews() == ["", "", ""]  # the row already has the visitor's name
    for sender, author in ((None, "AI:"), ("Cas <b> Smit", "Cas &lt;b&gt; Smit:"), ("Bo de Vries", "You:")):
        message = {"from": "bot", "item": {"text": "Hello", **({"sender": sender} if sender else {})}}
        workspace_api.post("/v3/agents/sales/convos/Ann/messages", {"messages": [message]})
        assert previews() == ["", "", author]


def test_the_list_beside_a_transcript_names_several_agents(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "sales", "Ann", "requested_chat")
    assert 'class="of"' not in signed_in.open("/convos/sales/Ann").text
    converse(workspace_api, "support", "Bea", "requested_chat")
    for path in ("/convos/sales/Ann", "/inbox?tab=waiting&beside=true"):
        assert signed_in.open(path).text.count('class="of">Sales desk<') == 1


def headings(page: Answer) -> list[str]:
    return [re.sub("<[^>]*>", "", text) for text in re.findall(r'<li class="heading">(.*?)</li>', page.text)]


def test_the_tab_all_has_a_heading_for_each_day(signed_in: Browser, workspace_api: Api, pass_time: PassTime) -> None:
    for name, seconds in (("Ann", 0), ("Bea", 60), ("Cor", 2 * 24 * 60 * 60)):
        pass_time(seconds)
        converse(workspace_api, "sales", name, "ended_chat")
    signed_in.start_session(email="bo@acme.test", password=PASSWORD)
    page = signed_in.open("/convos?tab=all")
    assert len(headings(page)) == len({*headings(page)}) == 2
    assert (
        page.text.count('<li class="heading">Started: <time datetime="') == 2 and page.text.count('data-as="time"') == 0
    )
    assert page.text.index(">Cor<") < page.text.rindex('class="heading"') < page.text.index(">Bea<")


@pytest.mark.parametrize(
    ("members", "place"),
    [
        ({"capturedVariables": {"country": "nl"}}, ("Netherlands", "NL")),
        ({"labels": {"countryCode": "BE"}, "capturedVariables": {"language": "fr-BE"}}, ("French", "FR")),
        ({"capturedVariables": {"country": "<b>", "language": ["fr"]}}, None),
        ({"capturedVariables": None}, None),
    ],
)
def test_a_row_shows_the_language_or_country_of_the_visitor(
    signed_in: Browser, workspace_api: Api, members: dict[str, object], place: tuple[str, str] | None
) -> None:
    converse(workspace_api, "sales", "Ann", "requested_chat")
    assert workspace_api.patch("/v3/agents/sales/convos/Ann", {"conversation": members}).status == 200
    for path in ("/convos", "/overview"):
        page = signed_in.open(path).text
        assert re.findall(r'<span class="locale" title="([^"]*)">([^<]*)<', page) == ([place] if place else [])


def test_the_longest_wait_is_one_click_away(signed_in: Browser, workspace_api: Api, pass_time: PassTime) -> None:
    for name in ("Ann", "Bea"):
        converse(workspace_api, "sales", name, "requested_chat")
        pass_time(60)
    title = "The oldest request or message that is not a colleague’s: Ann"
    link = f'<a class="next button small" href="{{}}/convos/sales/Ann{{}}" title="{title}">Answer next in line</a>'
    assert link.format(signed_in.home, "") in signed_in.open("/convos").text
    query = "?tab=waiting&amp;sort=newest"
    assert link.format(signed_in.home, query) in signed_in.open("/convos?tab=waiting&sort=newest").text
    for path in ("/convos?tab=all&tag=refund", "/convos?tab=mine"):
        assert link.format(signed_in.home, "") in signed_in.open(path).text
    assert "Answer next in line" not in signed_in.open("/convos?tab=waiting&tag=refund").text


def test_a_list_without_agents_keeps_its_tabs_and_offers_one_action(
    signed_in: Browser, workspace: NewWorkspace, workspace_api: Api
) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme Travel", "widgetIDs": []})
    signed_in.start_session(email="bo@acme.test", password=PASSWORD)
    titles = {
        "waiting": "No conversations are waiting",
        "mine": "No conversations of yours yet",
        "all": "No conversations yet",
    }
    for tab, title in titles.items():
        page = signed_in.open(f"/convos?tab={tab}")
        assert f'?tab={tab}" aria-current="true"' in page.text and page.text.count("?tab=") == 3
        assert f"<h2>{title}</h2>" in page.text and "The operator of the service adds them." in page.text
        assert 'class="button' not in page.text and 'class="filters"' not in page.text


def test_a_row_that_was_stored_without_an_author_names_none(
    signed_in: Browser, workspace: NewWorkspace, workspace_api: Api
) -> None:
    converse(workspace_api, "sales", "Ann", "requested_chat")
    row = store.find(storage.join_key(workspace.workspace_id, "sales", "Ann"))
    assert row
    metadata = store.read_metadata(row)
    with storage.unit_of_work():
        earlier = {name: value for name, value in metadata.items() if name != "lastMessageFrom"}
        store.save_metadata(row, metadata, earlier)
    assert 'class="preview">Hello' in signed_in.open("/convos").text


def test_a_row_shows_an_assignee_who_is_not_a_colleague_by_the_id(signed_in: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/eve", {"orgId": "rival", "name": "Eve", "email": "eve@rival.test"})
    converse(workspace_api, "sales", "Ann", "requested_chat", "eve")
    assert 'title="Assigned to eve"' in signed_in.open("/convos").text


def test_the_tab_all_shows_the_start_and_a_later_activity(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    converse(workspace_api, "sales", "Ann", "ended_chat")
    pass_time(1)
    converse(workspace_api, "sales", "Bea", "ended_chat")
    pass_time(3_600)
    converse(workspace_api, "sales", "Ann", "ended_chat")
    page = signed_in.open("/convos?tab=all").text
    assert (names_in(signed_in.open("/convos?tab=all")), page.count("started <time")) == (["Bea", "Ann"], 1)


@pytest.mark.parametrize(("number", "text"), [(99, "99"), (100, "99+")])
def test_a_count_ends_at_99(signed_in: Browser, workspace_api: Api, number: int, text: str) -> None:
    for one in range(number):
        converse(workspace_api, "support", f"Visitor-{one}", "requested_chat")
    page = signed_in.open("/convos")
    assert (tab_counts(page), len(names_in(page))) == ([text, "0", text], 50)
    assert f"The first 50 of {text} are shown." in page.text
    assert "Only the first 50 are shown." in signed_in.open("/convos?tab=waiting&q=visitor").text


def test_a_long_id_of_an_unnamed_visitor_is_shortened(signed_in: Browser, workspace_api: Api) -> None:
    for convo_id in ("f2e7cea0c58356d13fab1caddd4ad2a9", "order-48213"):
        body = state_body("Hello") | {"metadata": {"state": "requested_chat"}}
        assert workspace_api.post(f"/agents/support/interact/{convo_id}/state", body).status == 200
    for path in ("/convos", "/overview"):
        assert names_in(signed_in.open(path))[:2] == ["Visitor f2e7ce", "order-48213"], path
    page = signed_in.open("/convos/support/f2e7cea0c58356d13fab1caddd4ad2a9").text
    assert "<h1>Visitor f2e7ce</h1>" in page and 'placeholder="Reply to Visitor f2e7ce"' in page
    assert "Visitor f2e7ce" in page.partition("</title>")[0] and "<dd>f2e7cea0c58356d13fab1caddd4ad2a9</dd>" in page
