"""A person's actions in the console, with and without JavaScript."""

from collections.abc import Iterator

import pytest
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.browser import chromium
from tests.extensions.console.in_browser.person import NARROW, WIDE, Person, ask, converse
from tests.reliability.runs import Run

# The left edges of the first and last characters of the first message.
_EDGES = """[0, 4].map((at) => {
  const range = document.createRange(), text = document.querySelector(".said p").firstChild;
  range.setStart(text, at); range.setEnd(text, at + 1);
  return range.getBoundingClientRect().left;
})"""


@pytest.fixture(params=["with JavaScript", "without JavaScript"])
def person(request: pytest.FixtureRequest, browsers: tuple[Chrome, Chrome], run: Run) -> Iterator[Person]:
    """Sign in a person who has two conversations. Fail if the browser reports an error during the test."""
    person = Person(browsers[0], run)
    person.use_javascript(request.param == "with JavaScript")
    for convo_id, name in (("ann", "Ann Jansen"), ("eve", "Eve Kok")):
        message = {"mid": "1", "item": {"text": f"This is {name}"}}
        converse(run, convo_id, {"userName": name, "state": "requested_chat", "chatAssignedTo": None}, [message])
    person.be_signed_in()
    yield person
    assert person.log() == []
    person.use_javascript(True)


def test_a_wrong_password_is_said_at_the_form(person: Person) -> None:
    person.sign_in("wrong")
    person.sees("The email or password is wrong.")
    assert person.find("#password").get_attribute("aria-invalid") == "true"
    person.sign_in()
    person.sees("Acme Travel")


def test_a_message_runs_in_the_direction_of_its_language(person: Person, run: Run) -> None:
    text = "\u05e9\u05dc\u05d5\u05dd!"  # Hebrew for "hello!", with the exclamation mark at the left end
    converse(run, "dov", {"userName": "Dov"}, [{"item": {"text": text}}])
    person.open("/convos/support/dov")
    first, mark = person.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": _EDGES, "returnByValue": True})[
        "result"
    ]["value"]
    assert mark < first


def test_signing_out_ends_the_session(person: Person) -> None:
    person.leave(person.find(".who button"))
    person.open("/overview")
    person.sees("Password")


def test_a_person_filters_reads_and_acts(person: Person, run: Run) -> None:
    remove_tags(run)
    person.leave(person.find("a[href$='/convos']"))
    assert {"Ann Jansen", "Eve Kok"} <= set(person.text().splitlines())
    person.fill("q", "jansen")
    person.find("#q").send_keys(Keys.ENTER)
    person.wait_until(lambda: "Eve Kok" not in person.text())
    person.leave(person.find(".inbox a"))
    person.sees("This is Ann Jansen")
    replies = person.read(".turns").count("I am looking at it")
    person.reply("I am looking at it")
    assert person.read(".turns").count("I am looking at it") == replies + 1
    person.find("[data-part=tags] summary").click()
    person.fill("tags", "refund, urgent")
    person.press("Add")
    person.sees("Added: refund, urgent")
    assign(person, "cas")
    person.sees("The conversation is assigned to Cas Smit.")
    found = ask(run, "GET", "/v3/agents/support/convos/ann")["data"]
    assert (found["tags"], found["chatAssignedTo"]) == (["refund", "urgent"], "cas")
    person.press("Undo")
    person.sees("The change has been undone.")
    person.press("Pass to the AI")
    person.sees("With the AI")
    person.press("End")
    person.sees("Ended")
    person.sees("The conversation has ended.")


def remove_tags(run: Run) -> None:
    """Remove the tags that earlier tests added."""
    ask(run, "PATCH", "/v3/agents/support/convos/ann", {"conversation": {"tags": []}})


def assign(person: Person, client_id: str) -> None:
    """Assign the open conversation in the menu of people."""
    person.find(".people summary").click()
    person.leave(person.find(f".people [value={client_id}]"))


def test_no_action_loses_a_typed_text(person: Person, run: Run) -> None:
    remove_tags(run)
    person.open("/convos/support/ann")
    person.fill("text", "Half a reply")
    person.find("label[for=as-note]").click()
    person.fill("note", "Half a note")
    person.find("[data-part=tags] summary").click()
    person.fill("tags", "vip")
    person.find("#tags").send_keys(Keys.ENTER)
    person.sees("Added: vip")
    assign(person, "cas")
    person.sees("The conversation is assigned to Cas Smit.")
    assert [person.read(field, "value") for field in ("#text", "#note")] == ["Half a reply", "Half a note"]
    person.find("label[for=as-note]").click()
    person.press("Add note")
    person.sees("The note has been added.")
    assert [person.read(field, "value") for field in ("#text", "#note")] == ["Half a reply", ""]
    person.find("label[for=as-reply]").click()
    person.find("[name=action][value=reply]").click()
    person.wait_until(lambda: person.read("#text", "value") == "" and "Half a reply" in person.read(".turns"))
    found = ask(run, "GET", "/v3/agents/support/convos/ann")["data"]
    assert (found["tags"], found["chatAssignedTo"]) == (["vip"], "cas") and "Half a note" in found["notes"]


def test_the_focus_stays_where_a_person_was(person: Person, run: Run) -> None:
    """After an action the shortcuts work, but letters go into a note that the person writes."""
    remove_tags(run)
    person.open("/convos/support/ann")
    page = person.find("html")
    person.find("[data-part=tags] summary").click()
    person.fill("tags", "vip")
    person.find("#tags").send_keys(Keys.ENTER)
    person.sees("Added: vip")
    assert person.driver.switch_to.active_element.text == "Added: vip"
    person.driver.switch_to.active_element.send_keys("/")
    has_script = person.driver.execute_script("return document.onkeydown !== null")
    assert (person.driver.switch_to.active_element.get_attribute("id") == "text") == has_script
    person.find("label[for=as-note]").click()
    person.fill("note", "Call her")
    person.press("Add note")
    person.sees("The note has been added.")
    person.driver.switch_to.active_element.send_keys("en")
    assert page != person.find("html") and person.read("#note", "value") == "en"
    person.find("#note").clear()
    person.press("End")
    person.sees("The conversation has ended.")
    assert person.driver.switch_to.active_element.get_attribute("class") == "next"


_PLACE = "return arguments[0].getBoundingClientRect()"


def test_a_slash_says_that_the_agent_has_no_saved_replies(person: Person, run: Run) -> None:
    ask(run, "PATCH", "/v3/agents/support", {"agent": {"savedReplies": None}})
    person.open("/convos/support/eve")
    text = person.find("#text")
    text.send_keys("/")
    if person.driver.execute_script("return document.onkeydown !== null"):
        option = person.find(".saved option[disabled]")
        assert option.text.startswith("No saved replies for this agent yet") and text.get_attribute("value") == ""
        places = [person.driver.execute_script(_PLACE, one) for one in (option, person.find(".composer"))]
        assert places[0]["bottom"] <= places[1]["top"]


def test_a_person_inserts_a_saved_reply(person: Person, run: Run) -> None:
    ask(run, "PATCH", "/v3/agents/support", {"agent": {"savedReplies": ["Goodbye!", "Thanks\nfor waiting"]}})
    person.open("/convos/support/eve")
    button, text = person.find(".saved button"), person.find("#text")
    has_script = not button.is_displayed()
    text.send_keys("/")
    assert text.get_attribute("value") == ("" if has_script else "/")
    if has_script:  # the first reply is chosen, and the person continues to type
        person.driver.switch_to.active_element.send_keys(Keys.ENTER)
        person.driver.switch_to.active_element.send_keys(" Bye")
        assert text.get_attribute("value") == "Goodbye! Bye"
    person.fill("text", "Eve, ")
    ActionChains(person.driver).click(person.find(".saved select")).perform()
    person.driver.find_elements(By.CSS_SELECTOR, ".saved option")[2].click()
    if not has_script:
        person.leave(button)
    person.wait_until(lambda: person.read("#text", "value") == "Eve, Thanks\nfor waiting")


_SIGHT = """
const [scroll, turn, field] = [".scroll", ".turn:last-of-type", "#text"].map((one) => {
  return document.querySelector(one).getBoundingClientRect();
});
return [turn.bottom <= scroll.bottom && turn.top >= scroll.top, field.bottom <= innerHeight && field.top > scroll.top];
"""


def test_a_conversation_opens_at_its_newest_message(person: Person, run: Run) -> None:
    messages = [{"mid": str(number), "item": {"text": f"Line {number}."}} for number in range(60)]
    converse(run, "long", {"userName": "Long"}, messages)
    for size in (NARROW, WIDE):
        chromium.resize(person.driver, *size)
        person.open("/convos/support/long")
        assert person.driver.execute_script(_SIGHT) == [True, True]


_MATCH = """
const [scroll, turn] = [".scroll", "#match"].map((one) => document.querySelector(one).getBoundingClientRect());
return [turn.top >= scroll.top && turn.bottom <= scroll.bottom, document.querySelector("#match mark").textContent];
"""


def test_a_search_result_leads_to_the_message_with_the_word(person: Person, run: Run) -> None:
    texts = ["The Needle is here"] + [f"Line {number}." for number in range(60)]
    messages = [{"mid": str(number), "item": {"text": text}} for number, text in enumerate(texts)]
    converse(run, "hay", {"userName": "Hay"}, messages)
    for size in (NARROW, WIDE):
        chromium.resize(person.driver, *size)
        person.open("/convos?tab=all&q=needle")
        person.leave(person.find(".inbox a[href*='/hay']"))
        assert person.driver.execute_script(_MATCH) == [True, "Needle"]


def test_the_reply_field_stays_in_sight_below_the_notice_of_a_view(person: Person) -> None:
    """The notice that an operator views the console as a client takes room from the messages."""
    person.sign_in_as_operator()
    person.open("/settings/orgs/acme/clients/bo")
    person.press("View as this person")
    for size in (NARROW, WIDE):
        chromium.resize(person.driver, *size)
        person.open("/convos/support/ann")
        person.find(".viewing")
        assert person.driver.execute_script(_SIGHT) == [True, True]
        assert not person.find("#text").is_enabled()
    person.press("End the view")
    person.leave(person.find(".who button"))


def test_a_person_chooses_a_period_and_groups(person: Person) -> None:
    person.leave(person.find("a[href$='/analytics']"))
    person.filter("days", "7")
    person.filter("by", "country")
    person.open("/analytics?days=7&by=country&tz=Europe/Amsterdam")  # the page offers another zone after such a link
    assert "Europe/Amsterdam" in person.find(".top").text
    person.find("summary").click()
    assert len(person.driver.find_elements("css selector", "details[open] tbody tr")) == 7
    person.filter("tz", "Asia/Tokyo")
    assert "Asia/Tokyo" in person.find(".top").text
    person.open("/analytics?tz=Mars")
    person.sees("This is not a time zone.")


def test_a_person_finds_the_conversation_of_a_lead(person: Person, run: Run) -> None:
    lead = {"agentId": "support", "name": "Ann Jansen"}
    created = ask(run, "POST", "/v3/leads", {"lead": lead})["data"]["id"]
    person.leave(person.find("a[href$='/leads']"))
    person.filter("q", "jansen")
    person.leave(person.find(".leads .tools a"))
    assert [one.text for one in person.driver.find_elements("css selector", ".inbox strong")] == ["Ann Jansen"]
    ask(run, "DELETE", f"/v3/leads/{created}")


@pytest.mark.parametrize("name", ["analytics", "leads"])
def test_a_person_downloads_a_file_with_the_session(name: str, person: Person) -> None:
    if name == "leads":
        ask(person.run, "POST", "/v3/leads", {"lead": {"agentId": "support", "name": "Ann Jansen"}})
    person.leave(person.find(f"a[href$='/{name}']"))
    link = person.find("a[download]").get_attribute("href")
    read = "return fetch(arguments[0]).then(async (one) => [one.headers.get('content-disposition'), await one.text()])"
    disposition, text = person.driver.execute_script(read, link)
    assert disposition == f'attachment; filename="{name}.csv"'
    assert text.startswith({"analytics": "from,", "leads": "id,"}[name])


def test_a_person_changes_and_deletes_a_reply(person: Person) -> None:
    person.open("/convos/support/ann")
    person.reply("A tpyo")
    person.open("/convos/support/ann")
    open_change(person)
    person.fill("text", "A typo")
    person.press("Save")
    person.sees("The message has been changed.")
    assert person.find(".turn.person .said").text == "A typo"
    open_change(person)
    person.press("Delete this message")
    person.press("Delete this message")
    person.sees("The message has been deleted.")
    assert "A typo" not in person.text()


def open_change(person: Person) -> None:
    """Open the page of the newest reply with the link that appears when the reply is tapped."""
    opacity = "return getComputedStyle(document.querySelector('.turn.person .edit')).opacity"
    assert person.driver.execute_script(opacity) == "0"
    person.find(".turn.person .said").click()
    assert person.driver.execute_script(opacity) == "1"
    person.leave(person.find(".turn.person .edit"))


_HEIGHTS = "return ['.head', '.composer'].map((one) => document.querySelector(one).offsetHeight)"


def test_a_phone_shows_the_empty_reply_field_as_one_line_above_its_tools(person: Person, run: Run) -> None:
    converse(run, "ida", {"userName": "Ida", "state": "requested_chat"}, [{"item": {"text": "Hello"}}])  # has no draft
    chromium.resize(person.driver, *NARROW)
    person.open("/convos/support/ida")
    head, composer = person.driver.execute_script(_HEIGHTS)
    assert head <= 60 and composer <= 100
    for tool in (".saved select", ".send .next", "label[for=as-note]"):
        assert person.find(tool).is_displayed() and person.find(tool).size["height"] >= 42, tool
    assert person.find("label[for=as-reply]").location["x"] < 0
    person.find("#text").click()
    assert person.driver.execute_script(_HEIGHTS)[1] > 130
    person.find("label[for=as-note]").click()
    person.find("#note").send_keys("She has a dog.")
    assert not person.find("#text").is_displayed()
    person.press("Add note")
    person.sees("She has a dog.")
    person.find(".head .menu summary").click()
    person.leave(person.find(".ask [value=back]"))
    assert ask(run, "GET", "/v3/agents/support/convos/ida")["data"]["state"] == "ai-chatting"


def test_on_a_small_screen_the_details_take_the_place_of_the_list(person: Person) -> None:
    def in_sight() -> list[bool]:
        return [person.find(one).is_displayed() for one in (".list", ".chat", "#about")]

    chromium.resize(person.driver, 900, 700)
    person.open("/convos/support/eve")
    assert in_sight() == [True, True, False]
    person.find(".more[href='#about']").click()
    assert in_sight() == [False, True, True]
    person.find(".less").click()
    assert in_sight() == [True, True, False]


def test_a_chosen_zone_replaces_an_unknown_name(person: Person) -> None:
    person.open("/account")
    person.fill("timezone", "New Yrok")
    person.leave(person.find(".sticky button"))
    person.find("label[for=zone-1]").click()
    person.leave(person.find(".sticky button"))
    assert person.read("#timezone", "value") == "America/New_York"
