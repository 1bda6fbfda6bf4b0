"""An open conversation page is updated live, and survives failures. Live updates need JavaScript."""

import sys
import time

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.keys import Keys

from tests.browser import chromium
from tests.extensions.console.in_browser.person import LIVE, NARROW, PASSWORD, WIDE, Person, ask, converse
from tests.reliability.runs import Run

API = "/v3/agents/support/convos/live"
_COUNT_REQUESTS = """
const real = window.load;
window.requests = 0;
window.load = (address, body) => { window.requests += `${address}`.includes("/live?"); return real(address, body); };
"""
# Answer the next request with this status and these headers, or lose its response if there is no status.
_REPLACE_ANSWER = """
const [status, headers] = arguments, real = window.load;
window.load = async (address, body) => {
  if (!`${address}`.includes("/live?")) return real(address, body);
  window.load = real;
  await new Promise((done) => setTimeout(done, 50));
  if (!status) await real(address, body);
  const response = headers?.["Content-Type"] && document; // only pages are documents
  return {status: status ?? 0, response, getResponseHeader: (name) => headers?.[name] ?? null};
};
"""

_DRAFTS = """
return Object.entries(localStorage).filter(([key]) => key.startsWith("cams-draft:")).map(([, draft]) => draft);
"""


def write(run: Run, text: str) -> None:
    """Add a message from the visitor."""
    ask(run, "POST", f"{API}/messages", {"messages": [{"from": "human", "item": {"text": text}}]})


def stored(run: Run) -> list[str]:
    """Return the texts of the stored messages, newest first."""
    return [one["item"]["text"] for one in ask(run, "GET", f"{API}/messages")["data"]]


def notice(person: Person, text: str) -> None:
    """Wait until the notice above the reply form has this text."""
    person.wait_until(lambda: person.read(".notice") == text, text)


def send(person: Person, text: str) -> None:
    """Press Send without waiting."""
    person.fill("text", text)
    person.find("[name=action][value=reply]").click()


def draft(person: Person) -> str:
    return str(person.read("#text", "value"))


def turns(person: Person) -> list[str]:
    """Return the texts of the messages that the page shows."""
    script = "return [...document.querySelectorAll('.said')].map((one) => one.innerText.trim())"
    return list(person.driver.execute_script(script))


def test_a_second_browser_sees_a_reply_live(browsers: tuple[Chrome, Chrome], run: Run) -> None:
    """Each browser polls every 1.6 seconds, so a reply appears within 2 seconds.

    The limit adds half a second for a busy machine.
    """
    converse(run, "live", {"userName": "Ann", "state": "requested_chat"}, [{"item": {"text": "Hello"}}])
    first, second = (Person(driver, run) for driver in browsers)
    first.be_signed_in()
    second.be_signed_in("cas@acme.test")
    for person in (first, second):
        person.open("/convos/support/live")
        person.sees("Hello")
    taken = []
    for writer, reader in ((first, second), (second, first), (first, second)):
        text = f"Reply {len(taken)}"
        reader.fill("text", "half a reply")
        begun = time.monotonic()
        writer.reply(text)
        reader.sees(text)
        taken.append(round(time.monotonic() - begun, 2))
        assert reader.read("#text", "value") == "half a reply"
    sys.stdout.write(f"A reply was seen after {taken} seconds.\n")
    assert max(taken) < 2.5
    listed = ask(run, "GET", "/v3/agents/support/convos/live/messages")["data"]
    assert [one["item"]["text"] for one in listed] == ["Reply 2", "Reply 1", "Reply 0", "Hello"]
    assert first.log() == second.log() == []


# Delay all responses. Hide and show the page five times, and type into it.
_RETURN = """
let asked = 0;
const real = window.load;
const later = (given) => new Promise((done) => setTimeout(() => done(real(...given)), 1000));
window.load = (...given) => { asked += `${given[0]}`.includes("/live?"); return later(given); };
for (let times = 0; times < 5; times += 1) document.dispatchEvent(new Event("visibilitychange"));
document.dispatchEvent(new Event("input"));
return new Promise((done) => setTimeout(() => done(asked), 100));
"""


def test_a_page_asks_for_news_once_at_a_time(browsers: tuple[Chrome, Chrome], run: Run) -> None:
    converse(run, "live", {"userName": "Ann", "state": "requested_chat"}, [{"item": {"text": "Hello"}}])
    person = Person(browsers[0], run)
    person.be_signed_in()
    person.open("/convos/support/live")
    assert person.driver.execute_script(_RETURN) == 1
    ask(
        run,
        "POST",
        "/v3/agents/support/convos/live/messages",
        {"messages": [{"from": "human", "item": {"text": "Later"}}]},
    )
    person.sees("Later")


def test_edits_and_deletions_appear_and_the_draft_stays(person: Person, run: Run) -> None:
    write(run, "Second")
    person.sees("Second")
    person.fill("text", "half a reply")
    ask(run, "PATCH", f"{API}/messages/1", {"message": {"item": {"text": "Edited"}}})
    person.sees("Edited")
    assert turns(person) == ["Edited", "Second"]
    ask(run, "DELETE", f"{API}/messages/1")
    person.wait_until(lambda: turns(person) == ["Second"])
    assert draft(person) == "half a reply"


def test_a_change_of_the_state_appears(person: Person, run: Run) -> None:
    ask(run, "POST", f"{API}/assign", {"assignToUserId": "cas"})
    person.sees("Cas Smit took over")
    assert (person.read("#state"), person.read("#assignee")) == ("With a person", "Cas Smit")
    assert "Assign to me" in person.read(".head .actions")
    assert person.read(".assigned") == "Cas Smit"
    ask(run, "POST", f"{API}/assign", {"assignToUserId": None})
    person.sees("With the AI")
    assert person.read(".assigned") == "AI"
    ask(run, "PATCH", API, {"conversation": {"tags": ["refund"], "state": "ended_chat"}})
    person.sees("A reply reopens it.")
    assert person.read("[name=untag]", "value") == "refund"
    assert "End" not in person.read(".head .actions")
    assert person.read("[data-part=duration]").endswith(" by the API")
    ask(run, "PATCH", API, {"conversation": {"state": None}})
    person.wait_until(lambda: person.read("#state", "hidden"))
    script = "return [...document.querySelectorAll('.event')].map((line) => line.textContent)"
    # The page already had lines of earlier events.
    lines = person.driver.execute_script(script)[-3:]
    assert [line[:-6] for line in lines] == ["Cas Smit took over", "Passed to the AI", "Ended by the API"]


def test_a_draft_stays_until_it_is_sent_or_the_person_signs_out(person: Person, run: Run) -> None:
    person.fill("text", "half a reply")
    person.open("/overview")
    person.open(LIVE)
    assert draft(person) == "half a reply"
    person.press("Pass to the AI")
    assert (draft(person), person.read("#text", "defaultValue")) == ("half a reply", "")
    person.find("#text").send_keys(Keys.CONTROL, Keys.ENTER)
    person.wait_until(lambda: draft(person) == "")
    person.open(LIVE)
    assert (draft(person), stored(run)) == ("", ["half a reply", "Hello"])
    person.fill("text", "another")
    person.find(".leave").click()
    person.sees("Unsent drafts in this browser are deleted when you sign out.")
    assert person.driver.execute_script(_DRAFTS) == ["another"]
    person.leave(person.find("#leaving button"))
    assert person.driver.execute_script(_DRAFTS) == []


def test_a_note_is_a_draft_until_it_is_added(person: Person, run: Run) -> None:
    person.find("label[for=as-note]").click()
    person.fill("note", "Half a note")
    person.press("Pass to the AI")
    assert (person.read("#note", "value"), person.read("#note", "defaultValue")) == ("Half a note", "")
    person.find("label[for=as-note]").click()
    page = person.find("html")
    person.find("#note").send_keys(Keys.CONTROL, Keys.ENTER)
    person.wait_until(lambda: person.find("html") != page)
    person.sees("The note has been added.")
    assert (person.read("#note", "value"), person.driver.execute_script(_DRAFTS)) == ("", [])
    assert stored(run) == ["Hello"]


def test_a_draft_ends_when_the_person_signs_out_everywhere(person: Person) -> None:
    person.fill("text", "half a reply")
    person.open("/account")
    assert person.driver.execute_script(_DRAFTS) == ["half a reply"]
    person.leave(person.find("form[action$='/account/sign-out'] button"))
    assert person.driver.execute_script(_DRAFTS) == []


def test_times_are_in_the_time_zone_of_the_browser(person: Person, run: Run) -> None:
    noon = 1_795_435_200  # 2026-11-23 12:00 UTC
    messages = [{"ts": noon + hours * 3600, "item": {"text": "Hello"}} for hours in (0, 2, 4)]
    converse(run, "live", {"userName": "Ann"}, messages)
    person.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Tokyo"})
    person.open(LIVE)
    script = "return [...document.querySelectorAll('.turns time')].map((time) => time.textContent)"
    texts = person.driver.execute_script(script)
    person.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})
    # Event lines of today follow.
    assert texts[:5] == ["Monday 23 Nov", "21:00", "23:00", "Tuesday 24 Nov", "01:00"]


def test_the_time_zone_of_the_person_replaces_that_of_the_browser(person: Person, run: Run) -> None:
    noon = 1_795_435_200  # 2026-11-23 12:00 UTC
    messages = [{"ts": noon + hours * 3600, "item": {"text": "Hello"}} for hours in (0, 4)]
    converse(run, "live", {"userName": "Ann"}, messages)
    script = "return [...document.querySelectorAll('.turns time')].map((time) => time.textContent)"
    texts = []
    for zone in ("Asia/Tokyo", ""):
        person.open("/account")
        person.fill("timezone", zone)
        person.leave(person.find("form[action$='/account'] .actions button"))
        person.open(LIVE)
        texts.append(person.driver.execute_script(script))
    assert texts[0][:4] == ["Monday 23 Nov", "21:00", "Tuesday 24 Nov", "01:00"] != texts[1][:4]


@pytest.mark.parametrize("selector", ["[data-mark]:nth-of-type(30)", ".reply"], ids=["a message", "the form"])
def test_what_a_person_sees_stays_in_its_place(selector: str, person: Person, run: Run) -> None:
    messages = [{"mid": str(number), "item": {"text": f"Line {number}."}} for number in range(60)]
    converse(run, "live", {"userName": "Ann", "state": "requested_chat"}, messages)
    person.sees("Line 59.")
    element = person.find(selector)
    mark = element.get_attribute("data-mark")
    place = (
        f"return document.querySelector('{f'[data-mark=&{mark}&]' if mark else selector}').getBoundingClientRect().top"
    )
    place = place.replace("&", chr(34))
    person.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    before = person.driver.execute_script(place)
    write(run, "News")
    person.sees("News")
    assert abs(person.driver.execute_script(place) - before) < 2
    ask(run, "DELETE", f"{API}/messages/5")
    person.wait_until(lambda: "Line 5." not in turns(person))
    assert abs(person.driver.execute_script(place) - before) < 2
    ask(run, "PATCH", f"{API}/messages/55", {"message": {"item": {"text": "Line 55 in\nfour\nlines\nnow."}}})
    person.wait_until(lambda: "lines" in " ".join(turns(person)))
    assert abs(person.driver.execute_script(place) - before) < 2
    assert person.find(".jump").is_displayed() is bool(mark)
    if mark:
        person.find(".jump").click()
        person.wait_until(lambda: not person.find(".jump").is_displayed())
        assert person.driver.execute_script("return document.querySelector('.scroll').scrollTop") == 0


def test_a_hidden_page_sends_no_request_and_catches_up_at_once(person: Person, run: Run) -> None:
    person.hide(True)
    time.sleep(0.5)  # for a request that has begun
    person.driver.execute_script(_COUNT_REQUESTS)
    write(run, "Are you there?")
    time.sleep(4)  # more than two polling intervals
    assert (person.driver.execute_script("return window.requests"), turns(person)) == (0, ["Hello"])
    person.hide(False)
    assert person.driver.execute_script("return window.requests") == 1
    person.sees("Are you there?")


def test_a_reply_without_a_connection_is_kept_and_sent_once(person: Person, run: Run) -> None:
    person.be_offline(True)
    send(person, "I am looking at it")
    notice(person, "The connection is lost. Trying again … Your text is kept.")
    assert draft(person) == "I am looking at it"
    person.be_offline(False)
    notice(person, "")
    assert (draft(person), turns(person)) == ("", ["Hello", "I am looking at it"])
    assert stored(run) == ["I am looking at it", "Hello"]


def test_a_reply_whose_response_is_lost_is_added_once(person: Person, run: Run) -> None:
    person.driver.execute_script(_REPLACE_ANSWER, None, None)
    send(person, "I am looking at it")
    notice(person, "The connection is lost. Trying again … Your text is kept.")
    notice(person, "")
    person.reply("Done")
    assert stored(run) == ["Done", "I am looking at it", "Hello"]


def test_an_unavailable_service_is_asked_after_the_time_that_it_names(person: Person, run: Run) -> None:
    person.driver.execute_script(_REPLACE_ANSWER, 503, {"Retry-After": "4"})
    begun = time.monotonic()
    send(person, "I am looking at it")
    notice(person, "The service is busy. Trying again … Your text is kept.")
    person.hide(False)  # the person returns to the page too early
    notice(person, "")
    assert time.monotonic() - begun > 4
    assert (draft(person), stored(run)) == ("", ["I am looking at it", "Hello"])


def sign_in_again(person: Person) -> None:
    """Sign in on another tab with the notice's link, then return to the page."""
    page = person.driver.current_window_handle
    person.find(".notice a").click()
    (other,) = {*person.driver.window_handles} - {page}
    person.driver.switch_to.window(other)
    person.fill("email", "bo@acme.test")
    person.fill("password", PASSWORD)
    person.press("Sign in")
    person.driver.close()
    person.driver.switch_to.window(page)
    person.hide(False)
    notice(person, "")


def test_an_expired_session_keeps_the_text_until_the_person_has_signed_in(person: Person, run: Run) -> None:
    person.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    send(person, "I am looking at it")
    notice(person, "Your session has expired. Your text is kept.")
    person.driver.execute_script(_COUNT_REQUESTS)
    time.sleep(4)  # more than two polling intervals
    assert (person.driver.execute_script("return window.requests"), stored(run)) == (0, ["Hello"])
    sign_in_again(person)
    person.wait_until(lambda: turns(person) == ["Hello", "I am looking at it"])
    assert draft(person) == ""
    assert stored(run) == ["I am looking at it", "Hello"]


def test_a_rejected_reply_is_sent_as_a_form_whose_page_explains_the_error(person: Person, run: Run) -> None:
    person.driver.execute_script(_REPLACE_ANSWER, 429, {"Content-Type": "text/html; charset=utf-8"})
    page = person.find("html")
    send(person, "I am looking at it")
    person.wait_until(lambda: person.find("html") != page)
    person.sees("I am looking at it")
    assert stored(run) == ["I am looking at it", "Hello"]


def test_a_deleted_conversation_stops_the_updates(person: Person, run: Run) -> None:
    ask(run, "DELETE", API)
    notice(person, "This conversation is no longer available.")


def test_the_waiting_time_is_on_the_line_of_the_state_in_dutch(person: Person, run: Run) -> None:
    ask(run, "POST", "/v2/clients/bo", {"preferredLanguage": "nl"})
    person.sign_in()  # because the service caches sessions
    person.find(".who")
    for size in (WIDE, NARROW):
        chromium.resize(person.driver, *size)
        person.open(LIVE)
        lines = "return new Set([...document.querySelector('.now').children].map((one) => one.offsetTop >> 3)).size"
        assert (person.driver.execute_script(lines), person.read("#state")) == (1, "Wacht")
    ask(run, "POST", "/v2/clients/bo", {"preferredLanguage": "en"})
