"""The button that saves a long form stays in sight, and covers no field that has the focus."""

from selenium.webdriver import Chrome

from tests.browser import chromium
from tests.extensions.console.in_browser.person import Person
from tests.reliability.runs import Run

_FORMS = (
    "/new-agent",
    "/agents/support/new-tool",
    "/settings/new-org",
    "/settings/orgs/acme/clients/bo",
    "/agents/support",
)
# Whether the bar is within the window above the pages, and within its form, and each field whose first line it covers.
_COVERED = """
const box = (element) => element.getBoundingClientRect(), bar = document.querySelector(".sticky");
const pages = document.querySelector(".side nav"), form = bar.closest("form");
const end = getComputedStyle(pages).position === "fixed" ? box(pages).top : innerHeight;
form.scrollIntoView();
const isInSight = box(bar).bottom <= end + 1 && box(bar).left >= box(form).left && box(bar).right <= box(form).right;
const fields = [...form.querySelectorAll("input, select, textarea, summary")].filter((one) => one.checkVisibility());
const covered = fields.filter((one) => {
  document.activeElement.blur();
  scrollBy(0, box(one).top - box(bar).top); // below the bar, unless the field is near the top of the page
  one.focus();
  return box(one).top + 18 > box(bar).top && !bar.contains(one);
});
return [isInSight, covered.map((one) => one.id || one.name || one.textContent)];
"""


def test_the_button_that_saves_stays_in_sight(browsers: tuple[Chrome, Chrome], run: Run) -> None:
    person = Person(browsers[0], run)
    person.sign_in_as_operator()
    for size in ((1400, 700), (390, 700)):
        chromium.resize(person.driver, *size)
        for path in _FORMS:
            person.open(path)
            assert person.driver.execute_script(_COVERED) == [True, []], (size, path)


def test_the_way_to_try_an_agent_loses_no_changes(browsers: tuple[Chrome, Chrome], run: Run) -> None:
    person = Person(browsers[0], run)
    person.sign_in_as_operator()
    person.open("/agents/support")
    link = person.find(".sticky a[href$='/try']")
    assert link.is_displayed()
    person.fill("title", "Another title")
    assert not link.is_displayed()
    # A key in the bar leads to another page, too.
    person.driver.execute_script("document.querySelector('.sticky button:not(.second)').focus()")
    assert person.driver.execute_script("return Boolean(onbeforeunload())")
    person.find(".sticky .second[type=reset]").click()
    assert link.is_displayed() and not person.driver.execute_script("return Boolean(onbeforeunload())")
    person.leave(link)
