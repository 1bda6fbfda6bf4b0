"""Counts the requests that a page sends during a silent hour, in the browser's virtual time, however it sends them."""

from selenium.webdriver import Chrome
from selenium.webdriver.support.wait import WebDriverWait

MOST = 162
"""The maximum number of requests that an open page sends in its first hour if nothing happens."""
_HOUR, _SECONDS = 3_600_000, 60
_COUNT = """
const real = window.fetch, { prototype } = window.XMLHttpRequest, { send } = prototype;
window.requests = 0;
window.fetch = (...given) => { window.requests += 1; return real(...given); };
prototype.send = function (...given) { window.requests += 1; return send.apply(this, given); };
"""


def count_requests(page: Chrome, url: str) -> int:
    """Open a page, let an hour pass, and return the number of the requests that its script sent.

    The page's clock and timers run fast, but stop during requests. This cannot be undone: end the browser afterwards.
    """
    page.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _COUNT})
    page.get(url)
    begun = page.execute_script("return Date.now()")
    policy = {"policy": "pauseIfNetworkFetchesPending", "budget": _HOUR}
    page.execute_cdp_cmd("Emulation.setVirtualTimePolicy", policy)
    wait = WebDriverWait(page, _SECONDS, 0.1)
    wait.until(lambda driver: driver.execute_script("return Date.now()") - begun >= _HOUR)
    return int(page.execute_script("return window.requests"))
