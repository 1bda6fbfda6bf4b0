"""The overview of an almost empty workspace, with the first steps, and the trial of an agent."""

from selenium.webdriver import Chrome

from tests.extensions.console.in_browser.person import Person, ask
from tests.extensions.console.in_browser.test_pages import check_page
from tests.reliability.runs import Run
from tests.selection import whole


@whole
def test_the_first_steps_are_accessible_and_fit(browsers: tuple[Chrome, Chrome], run: Run) -> None:
    person = Person(browsers[0], run)
    person.sign_in_as_operator()
    assert "First steps" in person.text()
    check_page("/overview", person)
    assert person.log() == []


@whole
def test_an_answer_appears_in_a_trial_without_a_reload(browsers: tuple[Chrome, Chrome], run: Run) -> None:
    person = Person(browsers[0], run)
    person.sign_in_as_operator()
    person.find(".who")
    person.open("/agents/support/try")
    person.fill("text", "Are you open?")
    person.press("Send")
    person.sees("Are you open?")
    convo_id = person.driver.current_url.rpartition("=")[2].removesuffix("#text")
    assert person.driver.execute_script("return document.activeElement.id") == "text"
    answer = {"messages": [{"from": "bot", "item": {"text": "Until six."}}]}
    ask(run, "POST", f"/v3/agents/support/convos/{convo_id}/messages", answer)
    person.sees("Until six.")
    check_page(f"/agents/support/try?convo={convo_id}", person)
    assert person.log() == []


@whole
def test_the_form_of_an_agent_shows_that_it_has_unsaved_changes(browsers: tuple[Chrome, Chrome], run: Run) -> None:
    person = Person(browsers[0], run)
    person.be_signed_in()
    person.open("/agents/support")
    read = "return getComputedStyle(document.querySelector('.unsaved')).display !== 'none'"
    assert not person.driver.execute_script(read)
    person.fill("title", "Help desk")
    assert person.driver.execute_script(read)
    person.find("[type=reset]").click()
    assert not person.driver.execute_script(read)
