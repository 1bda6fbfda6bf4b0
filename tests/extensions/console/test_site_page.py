"""Operators put an agent's chat on a site: the page shows the files, the key and whether a visitor has written."""

import html
import json
import re

import pytest

from chalicelib.extensions.console.agent_pages import site_files
from tests.api import Api
from tests.extensions.console.browser import Browser, csrf_field
from tests.extensions.console.conftest import PASSWORD

PAGE = "/agents/support/site"
HOST = {"Host": "127.0.0.1:8000"}
LINE = '<script src="https://chat.example.com/embed.js" async></script>'
NOT_SEEN, SEEN = "Not seen yet.", "A visitor has written."


@pytest.mark.parametrize(
    ("query", "name"), [("", "server.py"), ("?server=server.mjs", "server.mjs"), ("?server=x", "server.py")]
)
def test_the_page_has_the_files_and_the_instructions_for_a_developer(operator: Browser, query: str, name: str) -> None:
    page = operator.open(PAGE + query, **HOST)
    downloads = re.findall(r'<a class="button second" href="([^"]*)" download>', html.unescape(page.text))
    assert downloads == [
        f"/console/site/{one}"
        for one in ("chat.html?title=Support&people=1", "chat.js", "embed.js?title=Support", f"{name}?agent=support")
    ]
    assert all(Api().call("GET", one, None, {}).status == 200 for one in downloads)
    (text,) = re.findall(r'data-copy="Copy the instructions"[^>]*>(.*?)</pre>', page.text, re.DOTALL)
    addresses = re.findall(r'curl -sSO "([^"]*)"', html.unescape(text))
    assert addresses == [f"http://127.0.0.1:8000{one}" for one in downloads]
    command = {"server.py": "python3 server.py", "server.mjs": "node server.mjs"}[name]
    code = html.unescape(page.text)
    lines = f'export AGENT_KEY="paste the agent key here"\nexport SITES="https://www.example.com"\n{command}'
    assert (code.count(lines), code.count(LINE)) == (2, 2)
    assert f'data-copied="Copied">{html.escape(LINE)}</pre>' in page.text.replace("&#34;", "&quot;")
    assert page.text.count(f"Open {site_files.ADDRESS} and write a message") == 2
    assert f"It listens on {site_files.ADDRESS}, " in code and re.search(rf"PORT.*{site_files.ADDRESS[-4:]}", code)
    assert 'AGENT = "http://127.0.0.1:8000/agents/support"' in code and re.search(r'src="[^"]*/copy\.\w+\.js"', code)


def test_visitors_ask_for_a_person_until_a_bot_is_connected(operator: Browser, workspace_api: Api) -> None:
    for is_connected in (False, True):
        page = operator.open(PAGE).text
        (address,) = re.findall(r'href="([^"]*/chat\.html[^"]*)" download>', page)
        chat = Api().call("GET", html.unescape(address), None, {}).text
        texts = ('<main id="chat" data-people>' in chat, page.count("remove data-people from chat.html") == 2)
        assert texts == (not is_connected, not is_connected)
        hook = {"url": "https://bot.example.com/cams", "events": ["message_received"]}
        workspace_api.post("/v3/webhooks", {"webhook": hook})


def test_a_title_adds_no_line_to_the_instructions(operator: Browser, workspace_api: Api) -> None:
    workspace_api.patch("/v3/agents/support", {"agent": {"title": "Shop\nrm -rf ~ #\n"}})
    (text,) = re.findall(r'data-copy="Copy the instructions"[^>]*>(.*?)</pre>', operator.open(PAGE).text, re.DOTALL)
    assert "Shop rm -rf ~ #" in text and "\nrm" not in text


def test_the_key_appears_on_the_same_page_after_one_click(
    operator: Browser, browser: Browser, workspace_api: Api
) -> None:
    key = workspace_api.get("/v3/agents/support").data["SECRET_API_KEY"]
    page = operator.open(f"{PAGE}?server=server.mjs")
    assert key not in page.text and page.text.count(f'formaction="{operator.home}{PAGE}#key">Show the key') == 1
    with_key = operator.submit(page, PAGE, {})
    assert re.search(f'<li id="key" class="card">.*<code class="secret" [^>]*>{key}</code>', with_key.text, re.DOTALL)
    assert f'export AGENT_KEY="{key}"' in html.unescape(with_key.text) and "paste the agent key" in with_key.text
    assert f'$env:AGENT_KEY = "{key}"' in html.unescape(with_key.text)
    assert with_key.text.count(key) == 3 and "Show the key" not in with_key.text and "node server.mjs" in with_key.text
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    refused = browser.post(PAGE, csrf_field(browser.open("/agents/support")))
    assert (refused.status, key in refused.text) == (403, False)


def test_the_files_have_the_title_and_the_language_of_the_agent(operator: Browser, workspace_api: Api) -> None:
    workspace_api.patch("/v3/agents/support", {"agent": {"title": "Bikes <&> co", "lang": "nl"}})
    addresses = re.findall(r'href="([^"]*)" download>', operator.open(PAGE, **HOST).text)
    page, script, button = (Api().call("GET", html.unescape(one), None, {}).text for one in addresses[:3])
    assert 'TITLE = "Bikes <&> co", OPEN = "De chat openen", CLOSE = "De chat sluiten"' in button
    assert "<title>Bikes &lt;&amp;&gt; co</title>" in page and "<h1>Bikes &lt;&amp;&gt; co</h1>" in page
    assert 'lang="nl"' in page and "Schrijf een bericht" in page and "De assistent antwoordt." in script
    for path, text in (
        ("chat.html?lang=de&title=", "<h1>Chat</h1>"),
        ("chat.js?lang=..%2Fnl", "The assistant answers."),
    ):
        assert text in Api().call("GET", f"/console/site/{path}", None, {}).text


@pytest.mark.parametrize("language", site_files.TRANSLATED)
def test_each_translated_text_is_in_its_file(language: str) -> None:
    texts = json.loads((site_files._FOLDER / f"{language}.json").read_text(encoding="utf-8"))
    for name, translations in texts.items():
        content = (site_files._FOLDER / name).read_text(encoding="utf-8")
        assert {original: content.count(original) for original in translations} == dict.fromkeys(translations, 1)


def test_the_page_says_when_a_visitor_has_written(operator: Browser, workspace_api: Api) -> None:
    operator.submit(operator.open("/agents/support/try"), "/try", {"text": "A trial"})
    workspace_api.post("/agents/support/interact/sample-1/state", written("Sample"))
    workspace_api.post("/agents/support/interact/silent/state", {"metadata": {"userName": "Silent"}})
    page = operator.open(PAGE).text
    assert NOT_SEEN in page and SEEN not in page and 'class="card ready"' not in page
    assert page.count(">Try it<") == 1  # the tab
    (again,) = re.findall(r'href="([^"]*#check)">Check again</a>', page)
    metadata = {"metadata": {"userName": "Ann <b>"}}
    workspace_api.post("/agents/support/interact/v@1/state", {**written("Hello"), **metadata})
    page = operator.open(html.unescape(again).removeprefix(operator.home)).text
    assert NOT_SEEN not in page and SEEN in page and page.count('class="card ready"') == 3
    assert f'<a href="{operator.home}/convos/support/v%401">Ann &lt;b&gt;</a>, <time' in page


def test_the_first_steps_lead_to_the_agent_that_was_tried_last_or_has_a_visitor(
    operator: Browser, workspace_api: Api
) -> None:
    def site_agents() -> set[str]:
        return {*re.findall(r'/agents/(\w+)/site"', operator.open("/overview").text)}

    for tried in ("other", "support", "other"):
        operator.submit(operator.open(f"/agents/{tried}/try"), "/try", {"text": "A trial"})
        assert site_agents() == {tried}
    workspace_api.post("/agents/support/interact/visitor-1/state", written("Hello"))
    assert site_agents() == {"support"}


def written(text: str) -> dict[str, list[object]]:
    return {"turns": [{"from": "human", "messages": [{"item": {"text": text}}]}]}
