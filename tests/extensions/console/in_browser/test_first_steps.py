"""The overview of an almost empty workspace, with the first steps, and the trial of an agent."""

from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from selenium.webdriver import Chrome

from tests.extensions.console.in_browser.person import Person, ask
from tests.extensions.console.in_browser.test_pages import check_page
from tests.reliability.runs import Run
from tests.selection import whole

# Whether the time in a trial's header has its title's colour, and whether the link to the newest message is visible.
_LOOKS = """
const style = (selector) => getComputedStyle(document.querySelector(selector));
const colours = [".widget .waited time", ".widget .head h2"].map((selector) => style(selector).color);
return [colours[0] === colours[1], style(".jump").visibility];
"""
# The browser asks whether to leave the page if this returns true. The driver accepts the question itself.
_LEAVE = """
const event = document.createEvent("BeforeUnloadEvent");
event.initEvent("beforeunload", false, true);
return !window.dispatchEvent(event);
"""


@whole
def test_the_first_steps_are_accessible_and_fit(browsers: tuple[Chrome, Chrome], run: Run) -> None:
    person = Person(browsers[0], run)
    person.sign_in_as_operator()
    assert "First steps" in person.text()
    check_page("/overview", person)
    assert person.log() == []


def test_an_answer_appears_in_a_trial_without_a_reload(browsers: tuple[Chrome, Chrome], run: Run) -> None:
    person = Person(browsers[0], run)
    person.sign_in_as_operator()
    person.find(".who")
    person.open("/agents/support/try")
    person.fill("text", "Are you open?")
    person.press("Send as the visitor")
    person.sees("Are you open?")
    person.fill("text", "Yes.")
    person.press("Answer as the agent")
    person.sees("Yes.")
    convo_id = person.driver.current_url.rpartition("=")[2].removesuffix("#text")
    assert person.driver.execute_script("return document.activeElement.id") == "text"
    for text in ("Until six.", "And on Sunday until five."):
        answer = {"messages": [{"from": "bot", "item": {"text": text}}]}
        ask(run, "POST", f"/v3/agents/support/convos/{convo_id}/messages", answer)
        person.sees(text)
    assert person.read(".notice") == ""  # the script reports an update that it could not show as a lost connection
    check_page(f"/agents/support/try?convo={convo_id}", person)
    assert person.log() == []


def test_a_failed_delivery_appears_in_a_trial_without_a_reload(browsers: tuple[Chrome, Chrome], run: Run) -> None:
    person = Person(browsers[0], run)
    person.sign_in_as_operator()
    person.find(".who")
    hook = {"url": "https://bot.invalid/cams", "events": ["message_received"]}
    hook_id = ask(run, "POST", "/v3/webhooks", {"webhook": hook})["data"]["id"]
    try:
        person.open("/agents/support/try")
        person.fill("text", "Are you open?")
        person.find("#person").click()
        person.press("Send as the visitor")
        for part in (".failures", "[data-part=bot]"):
            person.wait_until(partial(_shows_failure, person, part))
        assert person.driver.execute_script("return document.activeElement.id") == "text"
        assert person.driver.execute_script(_LOOKS) == [True, "hidden"]
        address = urlsplit(person.driver.current_url)
        check_page(f"/agents/support/try?{address.query}", person)
    finally:
        ask(run, "DELETE", f"/v3/webhooks/{hook_id}")
    assert person.log() == []


def _shows_failure(person: Person, part: str) -> bool:
    return "The bot's webhook fails" in person.read(part)


@whole
def test_the_form_of_an_agent_shows_that_it_has_unsaved_changes(browsers: tuple[Chrome, Chrome], run: Run) -> None:
    person = Person(browsers[0], run)
    person.be_signed_in()
    person.open("/agents/support")
    read = "return getComputedStyle(document.querySelector('.unsaved')).display !== 'none'"
    assert not person.driver.execute_script(read)
    bottom = "return document.querySelector('.sticky button').getBoundingClientRect().bottom <= innerHeight"
    assert person.driver.execute_script(bottom)  # the button is visible without scrolling
    person.fill("title", "Help desk")
    assert person.driver.execute_script(read)
    assert person.driver.execute_script(_LEAVE)
    person.find("[type=reset]").click()
    assert not person.driver.execute_script(_LEAVE)
    assert not person.driver.execute_script(read)
    person.driver.execute_script("for (const part of document.querySelectorAll('.parts details')) part.open = true")
    person.fill("vg_temperature", "warm")
    person.find(".sticky button").click()
    person.find("#wrong-vg_temperature")
    assert person.driver.execute_script(read)  # the server marks a form that it did not save


@whole
def test_a_chosen_photo_is_reduced_and_shown(browsers: tuple[Chrome, Chrome], run: Run, tmp_path: Path) -> None:
    person = Person(browsers[0], run)
    person.sign_in()
    person.find(".who")
    person.open("/account")
    picture, text = tmp_path / "wide.png", tmp_path / "notes.txt"
    person.driver.save_screenshot(str(picture))
    text.write_text("Not an image.")
    person.find("#squarePhotoURL").send_keys(str(picture))
    person.wait_until(lambda: person.read("[name=squarePhotoURL]", "value").startswith("data:image/jpeg;base64,"))
    assert len(person.read("[name=squarePhotoURL]", "value")) < 4_000
    assert person.find(".photo canvas").is_displayed()
    person.press("Save")
    person.sees("Saved.")
    assert person.driver.execute_script("return document.querySelector('.who img').naturalWidth") > 0
    check_page("/account", person)
    assert person.log() == []
    person.find("#squarePhotoURL").send_keys(str(text))
    person.press("Save")
    person.sees("Choose an image file")
