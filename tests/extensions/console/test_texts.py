"""The page texts: every language has the same keys, and each rule that a form can break has a text."""

import json
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import ValidationError

from chalicelib.agents import nodes, options, record, voice
from chalicelib.clients import models as clients
from chalicelib.extensions import has
from chalicelib.extensions.console.presentation import rendering
from chalicelib.http import bodies
from chalicelib.http.wire import WireModel
from chalicelib.organisations import models as organisations
from chalicelib.tools import models as tools
from chalicelib.webhooks import models as webhooks
from chalicelib.workspaces import models as workspaces
from tests.api import Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD

CONSOLE = Path(rendering.__file__).parent.parent
TEXTS = {one: json.loads((CONSOLE / "texts" / f"{one}.json").read_text("utf-8")) for one in rendering.LANGUAGES}
# The modules with models that forms edit.
MODULES = (record, voice, nodes, options, clients, organisations, tools, webhooks, workspaces)
# Values that together break every rule in the models.
VALUES: list[Any] = ["", "?", "x" * 5_000, 1, -1, 1.5, 10**20, -(10**20), True, None, [], [1], [""], {}, {"?": 1}, [{}]]


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"{(\w+)}", text))


def test_the_languages_have_the_same_texts() -> None:
    english, *others = TEXTS.values()
    for other in others:
        assert other.keys() == english.keys()
        assert [key for key in english if not placeholders(other[key]) <= placeholders(english[key])] == []


def test_a_template_uses_no_text_that_does_not_exist() -> None:
    used = {
        key
        for file in (CONSOLE / "templates").iterdir()
        for key in re.findall(r"\bt\('([^']+)'[,)]", file.read_text("utf-8"))
    }
    assert len(used) > 100
    assert used - TEXTS["en"].keys() == set()


def broken_rules(module: ModuleType) -> Iterator[str]:
    """Yield the rules in a module's models that the values break."""
    models = [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, WireModel)]
    for model, value in product(models, VALUES):
        for name in [*model.model_fields, "unknown"]:
            try:
                model.model_validate({name: value}, extra="forbid")
            except ValidationError as error:
                yield from (bodies._rule(detail) for detail in error.errors(include_input=False))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_each_rule_that_a_form_can_break_has_a_text(module: ModuleType) -> None:
    broken, dutch = set(broken_rules(module)), rendering.texts("nl")
    assert len(broken) > 2
    assert {rule for rule in broken if dutch.of_rule(rule) == rule} == set()


@pytest.mark.parametrize(
    ("rule", "translated"),
    [
        ("must be less than or equal to 3650", "mag maximaal 3650 zijn"),
        ("must be 'vertical' or 'horizontal'", "moet 'vertical' of 'horizontal' zijn"),
        ("is not JSON: Expecting value at line 3, column 7", "is geen JSON: zie regel 3, teken 7"),
        ("has no text yet", "has no text yet"),
    ],
)
def test_a_rule_keeps_its_values_in_another_language(rule: str, translated: str) -> None:
    assert rendering.texts("nl").of_rule(rule) == translated
    assert rendering.texts("en").of_rule(rule) == rule


def test_one_agent_is_singular(operator: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/orgs/two", {"name": "Two", "widgetIDs": ["support", "other"]})
    page = operator.open("/settings").text
    assert "<span>1 agent</span>" in page and "<span>2 agents</span>" in page


@pytest.mark.skipif(not has("tool_calls"), reason="The form needs the extension tool_calls.")
def test_a_tool_that_cannot_be_called_has_its_own_sentence_in_dutch(browser: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "preferredLanguage": "nl"})
    tool = workspace_api.post("/v3/agents/support/tools", {"tool": {"name": "Look up"}}).data["id"]
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    tested = browser.submit(browser.open("/agents/support"), f"/tools/{tool}", {"arguments": "{}"})
    assert "Deze tool kan niet worden aangeroepen" in tested.text
    assert "tegelijkertijd" not in tested.text


def test_a_form_in_dutch_says_in_dutch_what_is_wrong(browser: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "preferredLanguage": "nl"})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    page = browser.open("/agents/support")
    refused = browser.submit(page, "/agents/support", {"vg_temperature": "warm", "rest": '{"x": 1', "title": "A"})
    assert refused.status == 400
    assert "is geen JSON: zie regel 1" in refused.text and "is not JSON" not in refused.text
    refused = browser.submit(page, "/agents/support", {"vg_temperature": "warm", "rest": "{}", "title": "A"})
    assert (refused.status, "moet een getal zijn" in refused.text) == (400, True)
