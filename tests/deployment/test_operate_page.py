"""docs/operate.md contains the sections that messages name, and generated settings, alarms and prices.

`CAMS_UPDATE_DOCS=1 make test ARGS=tests/deployment/test_operate_page.py` updates the generated parts.
"""

import ast
import re
from pathlib import Path

import pytest

from chalicelib import settings
from infra.deploy import deployed_settings, idle_price, template
from infra.deploy.stage import is_generated
from infra.operator import prices
from tests import generated_docs
from tests.extensions import are_all_on

PAGE = "docs/operate.md"
ALARMS = template.declared("AWS::CloudWatch::Alarm")
needs_all_extensions = pytest.mark.skipif(not are_all_on(), reason="The page describes a stage with all extensions.")
_SECONDS = 0.05


def test_a_section_that_a_message_names_is_on_the_page() -> None:
    sources = [path for folder in ("infra", "chalicelib") for path in (generated_docs.ROOT / folder).rglob("*.py")]
    named = re.compile(r"docs/operate\.md, (?:section )?([A-Z][\w' ]*\w)")
    sections = {one for path in sources for one in named.findall(path.read_text(encoding="utf-8"))}
    headings = {*re.findall(r"^## (.+)$", (generated_docs.ROOT / PAGE).read_text(encoding="utf-8"), re.MULTILINE)}
    assert "Dead letters" in sections <= headings


def test_the_page_lists_every_setting() -> None:
    section = (generated_docs.ROOT / PAGE).read_text(encoding="utf-8").split("\n## Settings\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`[a-z_`, ]+) \|", section, re.MULTILINE)
    assert {name for cell in cells for name in re.findall(r"\w+", cell)} == {*deployed_settings._READABLE}


def test_the_page_lists_the_variables_of_an_operator() -> None:
    functions = ast.parse(Path(settings.__file__).read_text(encoding="utf-8")).body
    texts = [ast.get_docstring(one) or "" for one in functions if isinstance(one, ast.FunctionDef)]
    variables = [text.partition(": ")[::2] for text in texts]
    cells = [(f"`{name}`", " ".join(text.split()).rstrip(".")) for name, text in variables if not is_generated(name)]
    generated_docs.check(PAGE, "variables", generated_docs.table(("Variable", "Meaning"), cells))


@needs_all_extensions
def test_the_page_lists_every_alarm() -> None:
    """Require an entry in the table's last column, which is not generated, for every alarm."""
    actions = {name.strip("`"): action for name, _, action in generated_docs.rows(PAGE, "alarms")}
    alarms = {alarm["AlarmName"]["Fn::Sub"].removeprefix("${Name}-"): alarm["AlarmDescription"] for alarm in ALARMS}
    cells = [(f"`{name}`", re.split(r"(?<=\.) ", text)[0], actions.get(name, "")) for name, text in alarms.items()]
    generated_docs.check(PAGE, "alarms", generated_docs.table(("Alarm", "Meaning", "What to do"), cells))
    assert all(action for _, _, action in cells)


@needs_all_extensions
def test_the_page_has_the_price_of_an_idle_stage() -> None:
    price, core = idle_price.of_stage(), idle_price.of_stage([])
    cells = [
        ("KMS keys", price.keys, price.keys * idle_price.KEY),
        (f"metrics of {price.alarms} alarms", price.metrics, price.metrics * idle_price.ALARM_METRIC),
        ("metric of the check", 1, idle_price.CUSTOM_METRIC),
        ("queues that Lambda polls", price.queues, price.polling),
        ("all", "", price.dollars),
        ("core alone", "", core.dollars),
    ]
    rows = [(name, str(number), f"{dollars:.2f}") for name, number, dollars in cells]
    generated_docs.check(PAGE, "idle price", generated_docs.table(("Resource", "Number", "Dollars"), rows))


def test_the_page_has_the_price_of_requests() -> None:
    parts = {
        "gateway": prices.GATEWAY,
        "invocation": prices.CALL,
        f"{_SECONDS * 1000:.0f} ms of the function": prices.requests(1, _SECONDS) - prices.requests(1, 0),
        "log": prices.LOG_GB * prices.REQUEST_LOG_GB,
    }
    listed = ", ".join(f"{name} {price * 1e6:.2f}" for name, price in parts.items())
    sentences = (
        f"A million requests cost {prices.requests(1e6, 1e6 * _SECONDS):.2f} dollars ({listed}). A read\n"
        f"unit of each request adds {prices.READ_UNIT * 1e6} dollars, a write unit {prices.WRITE_UNIT * 1e6}.\n"
    )
    generated_docs.check(PAGE, "request price", sentences)
