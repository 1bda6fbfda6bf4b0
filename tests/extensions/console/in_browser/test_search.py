"""The search for pages and records, over any page and on its own page."""

import time

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser import axe
from tests.extensions.console.in_browser.person import LIVE, Person, ask, converse
from tests.reliability.runs import Run


def test_ctrl_k_opens_a_search_over_the_page_and_results_appear_while_typing(person: Person) -> None:
    field, rows = ".finder [name=q]", ".finder li a"
    person.find("#text").send_keys("Half a reply", Keys.CONTROL, "k")
    person.wait_until(lambda: person.read(".finder h2"))
    assert person.driver.switch_to.active_element == person.find(field) and person.driver.current_url.endswith(LIVE)
    person.find(field).send_keys("lead")
    person.wait_until(lambda: person.read(f"{rows} mark") == "Lead")
    person.find(field).send_keys(Keys.ARROW_DOWN, Keys.NULL)
    assert person.driver.switch_to.active_element == person.find(rows)
    person.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN, Keys.NULL)
    assert "All conversations with" in person.driver.switch_to.active_element.text
    person.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not person.find(".finder").is_displayed()
    assert person.driver.switch_to.active_element.get_property("value") == "Half a reply"
    person.find(".seek").click()
    person.wait_until(lambda: person.find(field).is_displayed())
    person.find(field).send_keys(Keys.ESCAPE)  # closes the dialog although the field has a text
    person.wait_until(lambda: not person.find(".finder").is_displayed())
    person.find(".seek").click()
    person.find(field).send_keys(Keys.ENTER)
    person.wait_until(lambda: person.driver.current_url.endswith("/leads"))


# Delay the response for the first letters, and count the searches.
_SLOW_SEARCH = """
const real = window.load;
window.searched = [];
window.load = async (address) => {
  const text = new URL(address).searchParams.get("q");
  if (text !== null) window.searched.push(text);
  const answer = await real(address);
  if (text === "le") await new Promise((done) => setTimeout(done, 1500));
  return answer;
};
"""


def test_the_search_sends_one_request_for_each_pause_and_ignores_older_responses(person: Person) -> None:
    person.open("/overview")
    person.driver.execute_script(_SLOW_SEARCH)
    person.find(".seek").click()
    field = person.find(".finder [name=q]")
    field.send_keys("le")
    person.wait_until(lambda: person.driver.execute_script("return searched.length"))
    field.send_keys("adsx")
    person.sees("All leads with “leadsx”")
    time.sleep(1.6)  # until the response for the first letters has arrived
    assert "leadsx" in person.read(".finder .results") and person.driver.execute_script("return searched") == [
        "le",
        "leadsx",
    ]


def test_the_dialog_says_that_a_search_failed(person: Person) -> None:
    person.open("/overview")
    person.find(".seek").click()
    field = person.find(".finder [name=q]")
    field.send_keys("lead")
    person.wait_until(lambda: person.read(".finder mark") == "Lead")
    person.driver.execute_script("const real = load; window.load = () => real('/nowhere')")
    field.send_keys("s")
    person.wait_until(lambda: person.read(".finder .results").startswith("The search failed"))


def test_enter_opens_the_first_result_before_it_appears(person: Person) -> None:
    person.open("/overview")
    person.find(".seek").click()
    person.driver.execute_script("window.load = () => new Promise(() => {})")  # no results appear
    person.find(".finder [name=q]").send_keys("lead", Keys.ENTER)
    person.wait_until(lambda: person.driver.current_url.endswith("/leads"))


def test_the_search_finds_a_visitor_by_name(person: Person, run: Run) -> None:
    converse(run, "rosa", {"userName": "Rosa Roos", "state": "requested_chat"}, [{"item": {"text": "Hello"}}])
    person.open("/jump")
    person.find("main [type=search]").send_keys("roos", Keys.ENTER)
    person.sees("All conversations with")
    person.driver.switch_to.active_element.send_keys(Keys.ENTER)
    person.wait_until(lambda: person.driver.current_url.endswith("/convos/support/rosa"))
    ask(run, "PATCH", "/v3/agents/support/convos/rosa", {"conversation": {"state": "ended_chat"}})


def test_the_search_of_any_word_opens_the_conversations(person: Person) -> None:
    person.open("/jump?q=xyzzy")
    person.driver.switch_to.active_element.send_keys(Keys.ENTER)
    person.wait_until(lambda: person.driver.current_url.endswith("/convos?tab=all&q=xyzzy"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_in_the_dialog(scheme: str, person: Person) -> None:
    person.prefer(scheme)
    person.open("/overview")
    person.find(".seek").click()
    person.find(".finder [name=q]").send_keys("support")
    person.wait_until(lambda: person.read(".finder mark"))
    axe.install()
    assert axe.violations(person.driver) == []
    assert [one for one in axe.contrasts(person.driver) if one[1] < one[2]] == []
