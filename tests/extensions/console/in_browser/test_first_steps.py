"""The overview of an almost empty workspace, with the first steps."""

from selenium.webdriver import Chrome

from tests.extensions.console.in_browser.person import Person
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
