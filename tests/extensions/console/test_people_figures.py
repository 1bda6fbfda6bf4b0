"""The analytics page compares the work of people for operators, and for administrators that of their colleagues."""

import csv
import io
import re

import pytest

from chalicelib import storage
from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.api import Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD

extensions.require("reports")

from chalicelib.extensions.reports import hours
from chalicelib.extensions.reports.counts import DayRow
from tests.extensions.console.counted_agents import day_before
from tests.extensions.console.stored_counts import count

PATH = "/analytics?by=person&days=7"


@pytest.fixture
def counted(browser: Browser, workspace_api: Api, workspace: NewWorkspace) -> Browser:
    """Store the work of the client, a disabled colleague, a client of another organisation, and a deleted client."""
    for client_id, org_id, name in (("noor", "acme", "Noor"), ("eve", "rival", "Eve <b>Rival</b>")):
        members = {"name": name, "orgId": org_id, "disabled": client_id == "noor"}
        assert workspace_api.post(f"/v2/clients/{client_id}", members).status == 200
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    work = {"bo": (10, 2), "noor": (7, 1), "eve": (5, 0), "gone": (4, 0)}  # first answers and ends
    numbers = {
        client_id: [{"firstAnswers": answers, "ends": ends}.get(name, 0) for name in hours.NAMES]
        for client_id, (answers, ends) in work.items()
    }
    count(workspace.workspace_id, "support", day_before(1), 9, "NL", conversations=30, messages=90)
    row = DayRow(storage.join_key(workspace.workspace_id, "support"), storage.join_key("people", day_before(1)))
    row.seal({hours.PERSON: {"9": numbers}})
    with storage.unit_of_work():
        storage.put(row)
    return browser


def table(page: str) -> list[str]:
    found = page.partition('<table class="stacked comparison">')[2].partition("</table>")[0]
    return [" ".join(re.sub("<[^>]+>", " ", row).replace("was 0", "").split()) for row in found.split("<tr>")[2:]]


def test_an_administrator_sees_colleagues_and_the_sum_of_all_others(counted: Browser, workspace: NewWorkspace) -> None:
    counted.start_session(email="bo@acme.test", password=PASSWORD)
    page = counted.open(PATH).text
    assert table(page) == ["Bo de Vries 10 – 2", "Noor 7 – 1", "Other or deleted people 9 – 0"]
    assert "Eve" not in page and "eve" not in page.split() and "gone" not in page
    assert "<strong>30</strong>" in page  # the totals contain everything
    rows = [*csv.reader(io.StringIO(counted.open(PATH.replace("analytics", "analytics.csv")).text))]
    assert rows[0][:4] == ["person", "from", "firstAnswers", "averageFirstAnswerSeconds"] and "messages" not in rows[0]
    assert {row[0] for row in rows[1:]} == {"Bo de Vries", "Noor", "other"}


def test_other_people_see_no_comparison_of_people(counted: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": False})
    counted.start_session(email="bo@acme.test", password=PASSWORD)
    page = counted.open(PATH).text
    assert '<option value="agent">' in page and '<option value="person"' not in page
    assert "Noor" not in page and "Figures by person" not in page and "<strong>30</strong>" in page
    file = counted.open(PATH.replace("analytics", "analytics.csv")).text
    assert file.startswith("from,") and "Noor" not in file


def test_an_operator_sees_everybody(counted: Browser, workspace: NewWorkspace) -> None:
    counted.start_session(key=workspace.workspace_key)
    assert table(counted.open(PATH).text) == [
        "Bo de Vries 10 – 2",
        "Noor 7 – 1",
        "Eve &lt;b&gt;Rival&lt;/b&gt; 5 – 0",
        "Other or deleted people 4 – 0",
    ]


def test_a_workspace_without_counted_work_says_so(browser: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    page = browser.open(PATH).text.partition("Figures by person")[2].partition("</section>")[0]
    assert "No values are known for this period." in page and "<table" not in page


def test_people_with_the_same_name_have_their_ids(
    counted: Browser, workspace_api: Api, workspace: NewWorkspace
) -> None:
    assert workspace_api.post("/v2/clients/eve", {"name": "Noor", "orgId": "rival"}).status == 200
    counted.start_session(key=workspace.workspace_key)
    assert [row.partition(")")[0] for row in table(counted.open(PATH).text) if "(" in row] == [
        "Noor (noor",
        "Noor (eve",
    ]
