"""A reader of /docs succeeds at the first attempt, because every write works as the page fills it in."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from tests.browser import chromium
from tests.browser.page import Page
from tests.openapi.document import document
from tests.reliability import runs
from tests.reliability.runs import Run
from tests.selection import whole

SIZES = [(1400, 1000), (390, 844)]
# Path parameter -> the operation whose response contains the id that a reader copies.
CREATED_BY = {
    "POST /v3/agents/{agent_id}/tools": "tool_id",
    "POST /v3/leads": "lead_id",
    "POST /v3/tokens": "token_id",
    "POST /v3/webhooks": "webhook_id",
    "POST /v3/webhooks/{webhook_id}/test": "delivery_id",
}
# The v2 and v3 deletions delete the same record. A reader tries only one of them, so the test recreates the record.
TWINS = {
    "DELETE /v2/clients/{client_id}": "/v2/clients/client-1",
    "DELETE /v3/clients/{client_id}": "/v2/clients/client-1",
    "DELETE /v2/orgs/{org_id}": "/v2/orgs/org-1",
    "DELETE /v3/orgs/{org_id}": "/v2/orgs/org-1",
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Run the service on a free port, as `make run` does."""
    directory: Path = tmp_path_factory.mktemp("run")
    run = runs.begin(directory, runs.free_port())
    yield run
    runs.kill(run)


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    with chromium.started() as driver:
        yield driver


@pytest.fixture
def page(browser: Chrome, service: Run) -> Page:
    """Open the page as a reader who visits the service for the first time."""
    chromium.resize(browser, *SIZES[0])
    address = f"http://127.0.0.1:{service.port}"
    browser.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": address, "storageTypes": "local_storage"})
    return Page(browser, address).open()


def errors_of(driver: Chrome) -> list[str]:
    """Return the errors that the browser reports, such as blocked content, failed requests and uncaught exceptions."""
    messages = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    # The JSON document has no icon link, so the browser requests the default icon.
    return [message for message in messages if "/favicon.ico" not in message]


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_first_operation_is_on_the_first_screen(width: int, height: int, page: Page) -> None:
    chromium.resize(page.driver, width, height)
    first = page.find(".opblock")
    assert first.rect["y"] + first.rect["height"] <= height
    first.find_element(By.CSS_SELECTOR, ".opblock-summary-control").click()
    page.find(".btn.execute")
    assert page.driver.execute_script("return document.documentElement.scrollWidth") <= width


def test_the_server_is_the_address_of_the_page(page: Page) -> None:
    assert [one.text for one in page.all(".servers option")] == [page.url]
    assert page.driver.current_url == f"{page.url}/docs"


def test_an_event_is_shown_without_anything_to_fill_in(page: Page) -> None:
    events = page.all(".webhooks .opblock")
    assert len(events) == len(document()["webhooks"])
    page.click(events[0].find_element(By.CSS_SELECTOR, ".opblock-summary-control"))
    page.find(".parameters", events[0])
    assert [one.tag_name for one in page.all("input, textarea, button.btn", events[0]) if one.is_displayed()] == []


def test_every_link_of_the_page_leads_somewhere(page: Page) -> None:
    for address in [one.get_attribute("href") or "" for one in page.all("nav a")]:
        page.driver.get(address)
        _, _, anchor = address.partition("#")
        assert not anchor or page.all(f"h2#{anchor}"), address
    assert errors_of(page.driver) == []


@pytest.mark.parametrize("writes", [10, pytest.param(None, id="all", marks=whole)])
def test_every_write_works_at_the_first_try(writes: int | None, page: Page, service: Run) -> None:
    page.authorize(service.credentials["workspace_key"])
    ids: dict[str, str] = {}
    tried = 0
    for place, name in in_reading_order(page.operations())[:writes]:
        if name in TWINS:
            runs.ask(service, "POST", TWINS[name], service.credentials["workspace_key"], {"name": "Once more"})
        if "{number}" in name:
            ids["number"] = newest_version(service, name, ids)
        status, body = page.execute(place, ids)
        assert status == 200, (name, body)
        tried += 1
        if name in CREATED_BY:
            ids[CREATED_BY[name]] = body["data"]["id"]
    assert errors_of(page.driver) == []
    assert writes in (None, tried)


def newest_version(service: Run, name: str, ids: dict[str, str]) -> str:
    """Wait until the table's stream has delivered a version of the record; return the newest version's number."""
    path = name.split()[1].partition("/{number}")[0].format(agent_id="support", **ids)
    for _ in range(60):
        _, found = runs.ask(service, "GET", path, service.credentials["workspace_key"])
        if found["data"]:
            return str(found["data"][0]["number"])
        time.sleep(1)
    raise AssertionError(f"there is no version at {path}")


def in_reading_order(operations: list[str]) -> list[tuple[int, str]]:
    """Return the writes with their positions on the page. Deletions come last, from bottom to top."""
    writes = [(place, name) for place, name in enumerate(operations) if not name.startswith("GET")]
    deletions = [one for one in writes if one[1].startswith("DELETE")]
    # A webhook test creates the delivery that another operation repeats.
    others = sorted(set(writes) - set(deletions), key=lambda write: ("{delivery_id}" in write[1], write))
    return [*others, *reversed(deletions)]
