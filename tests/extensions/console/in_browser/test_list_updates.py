"""The list of conversations is updated live, with its numbers, chosen rows and keys, and asks seldom."""

import sys
import time

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.browser import chromium, silent_hour
from tests.extensions.console.in_browser.person import LIVE, NARROW, Person, ask, converse
from tests.extensions.console.in_browser.test_live_updates import notice, sign_in_again
from tests.reliability.runs import Run

# The maximum number of requests in a silent hour. A conversation page updates its list and its transcript.
LIST, NUMBER = 90, 50
SILENT_HOUR = {"/overview": NUMBER, "/convos": LIST, "/convos?tab=all": NUMBER, LIVE: silent_hour.MOST + LIST}

_IS_REQUESTED = "return performance.getEntriesByType('resource').some(({ name }) => name.includes('/inbox?'))"
# The milliseconds between a loaded page and its first request for the number.
_DELAY = """
const [page] = performance.getEntriesByType("navigation");
const update = performance.getEntriesByType("resource").find(({ name }) => name.includes("/inbox?"));
return update.startTime - page.domContentLoadedEventStart;
"""


def test_the_list_and_the_number_in_the_title_follow_the_inbox(person: Person, run: Run) -> None:
    person.open("/convos")
    waiting = int(person.read("[data-waiting]"))
    converse(run, "new", {"userName": "Nora New", "state": "requested_chat"}, [{"item": {"text": "Hello"}}])
    person.sees("Nora New")
    assert person.driver.title == f"({waiting + 1}) Conversations"
    assert person.read("[data-waiting]") == person.read(".tabs .count") == str(waiting + 1)
    assert person.read(".inbox time") == "just now" and person.read(".inbox time", "title")
    ask(run, "PATCH", "/v3/agents/support/convos/new", {"conversation": {"state": "ended_chat"}})


def test_every_page_gets_the_number_that_waits_when_it_is_loaded(person: Person, run: Run) -> None:
    converse(run, "number", {"userName": "Nora Number", "state": "requested_chat"}, [{"item": {"text": "Hello"}}])
    person.open("/leads")
    person.wait_until(lambda: person.driver.title.startswith("("))
    assert person.driver.title == f"({person.read('[data-waiting]')}) Leads"
    assert person.driver.execute_script(_DELAY) < 500
    ask(run, "PATCH", "/v3/agents/support/convos/number", {"conversation": {"state": "ended_chat"}})


def test_a_page_with_the_number_does_not_get_it_when_it_is_loaded(person: Person) -> None:
    for path, is_requested in (("/overview", False), ("/agents", False), ("/leads", True)):
        person.open(path)
        person.wait_until(lambda: person.driver.execute_script("return document.readyState === 'complete'"))
        time.sleep(0.5)
        assert person.driver.execute_script(_IS_REQUESTED) == is_requested


def test_a_list_says_that_the_session_has_expired_until_the_person_has_signed_in(person: Person) -> None:
    person.open("/convos")
    person.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    person.hide(False)
    notice(person, "Your session has expired.")
    sign_in_again(person)
    assert not person.find(".notice a").is_displayed()
    person.find(".pick input").click()  # the form belongs to the new session
    person.fill("tags", "again")
    person.press("Add tags")
    person.sees("Conversations tagged: 1")


@pytest.mark.parametrize("path", ["/convos", "/overview"])
def test_a_page_says_that_the_connection_is_lost_after_two_failures(path: str, person: Person) -> None:
    person.open(path)
    person.be_offline(True)
    for _ in range(2):
        time.sleep(0.5)
        notice(person, "")
        person.hide(False)
    notice(person, "The connection is lost. Trying again …")
    person.be_offline(False)
    person.hide(False)
    notice(person, "")


def test_chosen_rows_stay_chosen_when_the_list_changes(person: Person, run: Run) -> None:
    person.open("/convos")
    assert not person.find(".bar").is_displayed()
    person.find(".pick input").click()
    assert person.find(".bar").is_displayed() and person.read(".bar output") == "1"
    name = person.find(".pick input").get_attribute("name")
    converse(run, "more", {"userName": "Nora More", "state": "requested_chat"}, [{"item": {"text": "Hello"}}])
    person.sees("Nora More")
    checked = person.driver.find_elements(By.CSS_SELECTOR, ".pick :checked")
    assert [box.get_attribute("name") for box in checked] == [name]
    person.find(".all input").click()
    person.fill("tags", "seen")
    person.press("Add tags")
    person.sees("Conversations tagged:")
    assert "seen" in ask(run, "GET", "/v3/agents/support/convos/more")["data"]["tags"]
    ask(run, "PATCH", "/v3/agents/support/convos/more", {"conversation": {"state": "ended_chat"}})


def test_keys_move_through_the_list_and_do_nothing_in_a_field(person: Person, run: Run) -> None:
    converse(run, "next", {"userName": "Nora Next", "state": "requested_chat"}, [{"item": {"text": "Hello"}}])
    person.open("/convos")
    names = [one.text for one in person.driver.find_elements(By.CSS_SELECTOR, ".inbox strong")]

    def press(keys: str) -> str:
        person.driver.switch_to.active_element.send_keys(keys)
        return str(person.driver.execute_script("return document.activeElement.querySelector('strong')?.innerText"))

    assert [press(key) for key in "jjkk"] == [names[0], names[1], names[0], names[0]]
    press("?")
    assert person.find("dialog").is_displayed()
    press("j" + Keys.ESCAPE)
    assert not person.find("dialog").is_displayed()
    press("/")
    press("jk?")
    assert person.find("#q").get_attribute("value") == "jk?" and not person.find("dialog").is_displayed()
    person.find("#q").clear()
    person.open("/convos/support/next")
    person.find("body").send_keys("s")
    assert person.driver.switch_to.active_element.get_attribute("id") == "find"
    person.open("/convos/support/next")
    person.find(".inbox a:not([aria-current])").send_keys("e")  # another row's focus changes nothing
    person.leave(person.driver.switch_to.active_element)
    person.sees("The conversation has ended.")
    page, following = person.find("html"), person.find(".next").get_attribute("href")
    person.find("#text").send_keys("jn", Keys.ESCAPE)
    assert person.read("#text", "value") == "jn"
    person.driver.switch_to.active_element.send_keys("n")
    person.wait_until(lambda: person.find("html") != page and person.driver.current_url == following)


@pytest.mark.parametrize("path", ["/agents", "/leads"])
def test_keys_move_through_other_lists(path: str, person: Person, run: Run) -> None:
    lead = ask(run, "POST", "/v3/leads", {"lead": {"agentId": "support", "name": "Ann Jansen"}})["data"]
    person.open(path)
    rows = person.driver.find_elements(By.CSS_SELECTOR, "[data-row]")
    person.find("body").send_keys("j")
    assert person.driver.switch_to.active_element == rows[0]
    rows[0].send_keys("e")  # opens no menu
    assert person.driver.find_elements(By.CSS_SELECTOR, ".menu[open]") == []
    rows[0].send_keys("?")
    assert "Next row" in person.read("#keys") and "conversation" not in person.read("#keys")
    person.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    rows[0].send_keys(Keys.ENTER)
    person.wait_until(lambda: f"{path}/" in person.driver.current_url)
    ask(run, "DELETE", f"/v3/leads/{lead['id']}")


def test_the_key_e_ends_the_focused_row_if_no_row_is_chosen(person: Person, run: Run) -> None:
    converse(run, "ends", {"userName": "Nora Ends", "state": "requested_chat"}, [{"item": {"text": "Hello"}}])
    person.open("/convos?agent=support&sort=newest")
    name = person.find(".inbox strong").text
    person.find("body").send_keys("e")  # focuses the first row, as the key j does
    assert not person.find(".bar").is_displayed()
    person.driver.switch_to.active_element.send_keys("e")
    assert (person.read(".bar output"), person.read(".bar [open] button", "value")) == ("1", "end")
    person.leave(person.driver.switch_to.active_element)
    person.sees("Conversations ended: 1")
    assert name == "Nora Ends"
    assert ask(run, "GET", "/v3/agents/support/convos/ends")["data"]["state"] == "ended_chat"


def test_the_key_e_ends_only_the_chosen_rows(person: Person, run: Run) -> None:
    for convo_id in ("chosen", "focused"):
        converse(run, convo_id, {"state": "requested_chat"}, [{"item": {"text": "Hello"}}])
    person.open("/convos")
    box, other = person.driver.find_elements(By.CSS_SELECTOR, ".pick input")[:2]
    box.click()
    other.send_keys("e")
    assert person.driver.switch_to.active_element.get_attribute("value") == "end"
    assert (person.read(".bar output"), box.is_selected(), other.is_selected()) == ("1", True, False)
    for convo_id in ("chosen", "focused"):
        ask(run, "PATCH", f"/v3/agents/support/convos/{convo_id}", {"conversation": {"state": "ended_chat"}})


def test_the_keys_work_after_a_notice_and_escape_leaves_it(person: Person, run: Run) -> None:
    for convo_id in ("noted", "other"):
        converse(run, convo_id, {"userName": convo_id, "state": "requested_chat"}, [{"item": {"text": "Hello"}}])

    def press(key: str) -> str:
        person.driver.switch_to.active_element.send_keys(key)
        return str(person.driver.switch_to.active_element.get_attribute("value"))

    person.open("/convos/support/noted")
    person.find("[data-part=tags] summary").click()
    person.fill("tags", "vip")
    person.find("#tags").send_keys(Keys.ENTER)
    person.sees("Added: vip")
    assert person.driver.switch_to.active_element.text == "Added: vip"
    press(Keys.ESCAPE)
    assert person.driver.switch_to.active_element.tag_name == "body"
    assert press("e") == "end"
    person.leave(person.driver.switch_to.active_element)
    person.sees("The conversation has ended.")
    person.press("Undo")
    person.sees("The conversation is open again")
    assert person.driver.switch_to.active_element.get_attribute("role") == "status"
    press("e" + Keys.ENTER)
    person.sees("The conversation has ended.")
    press(Keys.ESCAPE)
    following = person.find("a.next").get_attribute("href")
    press("n")
    person.wait_until(lambda: person.driver.current_url == following)
    for convo_id in ("noted", "other"):
        ask(run, "PATCH", f"/v3/agents/support/convos/{convo_id}", {"conversation": {"state": "ended_chat"}})


def test_the_keys_work_after_a_click_on_a_box(person: Person) -> None:
    person.open("/convos")
    box = person.find(".pick input")
    box.click()
    box.send_keys("e")
    assert person.driver.switch_to.active_element.get_attribute("value") == "end"


def test_a_phone_shows_the_match_of_a_search_within_two_lines_and_a_third_line_after_it(
    person: Person, run: Run
) -> None:
    text = f"Look at https://shop.example.com/{'path/' * 9}needle?{'colour=red&' * 9} please"
    converse(run, "long", {"userName": "Nora Long", "state": "human-chatting"}, [{"item": {"text": text}}])
    chromium.resize(person.driver, *NARROW)
    person.open("/convos?tab=all&q=needle")
    script = "const {top, bottom} = document.querySelector(arguments[0]).getBoundingClientRect(); return [top, bottom]"
    (top, bottom), (first, last), (state, _) = (
        person.driver.execute_script(script, f".inbox {one}") for one in (".preview", "mark", ".state")
    )
    assert top <= first < last <= top + 2 * 20 + 1 and bottom <= top + 3 * 20 + 1 and state >= bottom
    assert not person.find("#state").is_displayed()
    person.find(".filters summary").click()
    person.apply(".filters", "state", "ended_chat")
    person.sees("No conversations match these filters.")


def test_a_touch_of_the_avatar_on_a_phone_chooses_the_row(person: Person) -> None:
    chromium.resize(person.driver, *NARROW)
    person.open("/convos")
    assert person.find(".inbox strong").location["x"] < 80
    box = person.find(".inbox .pick input")
    assert box.value_of_css_property("opacity") == "0"  # it would cover the initials
    person.find(".inbox .pick").click()
    assert box.value_of_css_property("opacity") == "1"
    assert person.find(".bar").is_displayed() and person.driver.current_url.endswith("/convos")
    person.find(".inbox a").click()
    person.sees("Take over")


def test_the_next_conversation_is_offered_as_long_as_it_waits(person: Person, run: Run) -> None:
    converse(run, "next", {"userName": "Nora Next", "state": "requested_chat"}, [{"item": {"text": "Hello"}}])
    person.open(LIVE)
    name = person.find(".next").text
    following = person.find(".next").get_attribute("href").partition("/support/")[2].partition("?")[0]
    ask(run, "PATCH", f"/v3/agents/support/convos/{following}", {"conversation": {"state": "ended_chat"}})
    person.wait_until(lambda: person.read(".next") != name, name)


def test_a_reply_updates_the_open_row_at_once_and_the_row_stays(person: Person, run: Run) -> None:
    converse(run, "row", {"userName": "Nora Row", "state": "requested_chat"}, [{"item": {"text": "Hello"}}])
    person.open("/convos/support/row")
    person.reply("Good morning")
    row = ".inbox [aria-current]"
    person.wait_until(lambda: "Good morning" in (person.read(row) or ""), seconds=1.5)  # the list asks every 5 seconds
    assert "Person" in person.read(row) and person.read(".inbox a", "ariaCurrent") == "true"


@pytest.mark.parametrize(("path", "most"), SILENT_HOUR.items())
def test_a_page_sends_few_requests_in_a_silent_hour(path: str, most: int, run: Run) -> None:
    converse(run, "live", {"userName": "Ann", "state": "requested_chat"}, [{"item": {"text": "Hello"}}])
    with chromium.started() as driver:
        person = Person(driver, run)
        person.be_signed_in()
        requests = silent_hour.count_requests(driver, person.home + path)
        person.find("[data-waiting]")
    sys.stdout.write(f"The page {path} sends {requests} requests in a silent hour.\n")
    assert requests <= most


def test_a_hidden_page_does_not_ask_for_the_list(person: Person) -> None:
    person.open("/convos")
    count = "const { prototype } = XMLHttpRequest, { send } = prototype; window.requests = 0;"
    count += "prototype.send = function () { window.requests += 1; return send.call(this); }"
    person.driver.execute_script(count)
    person.hide(True)
    time.sleep(6)
    assert person.driver.execute_script("return window.requests") == 0
    person.hide(False)
    person.wait_until(lambda: person.driver.execute_script("return window.requests") == 1, seconds=2)


# Keep the notifications that the page shows, as if the person had allowed them, and answer no.
_ALLOW = """
window.shown = [];
window.Notification = class { constructor(...given) { window.shown.push(given); %s } };
window.Notification.permission = "granted";
document.hasFocus = () => false;
"""


@pytest.mark.parametrize("then", ["", "throw new TypeError('Illegal constructor')"], ids=["shown", "thrown on Android"])
def test_a_browser_that_may_notify_does_so_in_a_hidden_page_when_more_visitors_wait(
    then: str, person: Person, run: Run
) -> None:
    person.open("/overview")
    waiting = int(person.read("[data-waiting]", "textContent") or 0)
    person.driver.execute_script(_ALLOW % then)
    person.hide(True)
    converse(run, "notice", {"userName": "Nora", "state": "requested_chat"}, [{"item": {"text": "Hello"}}])
    person.driver.execute_script("window.dispatchEvent(new Event('online'))")  # without this, the test waits 20 seconds
    person.wait_until(lambda: person.driver.execute_script("return shown.length"))
    person.driver.execute_script("window.dispatchEvent(new Event('online'))")
    text = f"Waiting for a person: {waiting + 1}"
    assert person.driver.execute_script("return shown") == [[text, {"tag": text}]]
    assert (person.read("[data-waiting]", "textContent"), person.read(".notice")) == (str(waiting + 1), "")
    assert len(person.log()) == bool(then)
    ask(run, "PATCH", "/v3/agents/support/convos/notice", {"conversation": {"state": "ended_chat"}})


def test_the_profile_asks_the_browser_for_notifications_once(person: Person) -> None:
    person.open("/account")
    button, granted = person.find(".browser button"), person.find(".browser .granted")
    assert button.is_displayed() and not granted.is_displayed()
    person.driver.execute_script(
        """
      Notification.requestPermission = async () => { Notification = {permission: "granted"}; };
      arguments[0].click();""",
        button,
    )
    person.wait_until(granted.is_displayed)
    assert not button.is_displayed() and not person.find(".browser .denied").is_displayed()
