"""Accessibility checks of a page in a browser: axe-core's rules, plus contrasts that axe-core cannot measure."""

import subprocess
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome

_HERE = Path(__file__).parent
_SCRIPT = _HERE / "node_modules" / "axe-core" / "axe.min.js"
_RUN = "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(done, (e) => done(String(e)));"
# A script that returns the contrast (WCAG 2.2) of each text, chart line and chart bar with its background.
_CONTRAST = """
// A mixed colour has components from 0 to 1.
const scale = (colour) => (part, place) => place < 3 && colour.startsWith('color(') ? part * 255 : Number(part);
const rgb = (colour) => colour.match(/[0-9.]+/g).map(scale(colour));
const light = (colour) => {
  const [r, g, b] = rgb(colour).map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  for (; element; element = element.parentElement) {
    const colour = getComputedStyle(element).backgroundColor;
    if (rgb(colour)[3] !== 0) return colour;
  }
  return 'rgb(255, 255, 255)';
};
const ratio = (one, other) => {
  const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
  return Math.round((high + 0.05) / (low + 0.05) * 100) / 100;
};
const pairs = [];
for (const one of document.querySelectorAll('svg text')) {
  pairs.push(['text of a chart', getComputedStyle(one).fill, behind(one), 4.5]);
}
for (const one of document.querySelectorAll('body :not(svg *, option, script)')) {
  const hasText = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (hasText) pairs.push(['text', getComputedStyle(one).color, behind(one), 4.5]);
}
for (const one of document.querySelectorAll('svg .line, svg .before')) {
  pairs.push(['line', getComputedStyle(one).stroke, behind(one), 3]);
  const area = one.parentElement.querySelector('.area');
  if (area) pairs.push(['line on its area', getComputedStyle(one).stroke, getComputedStyle(area).fill, 3]);
}
for (const one of document.querySelectorAll('svg .fill')) {
  pairs.push(['bar', getComputedStyle(one).fill, behind(one), 3]);
}
return pairs.map(([what, one, other, least]) => [what, ratio(one, other), least]);
"""


def install() -> None:
    """Install the locked version of axe-core with npm, unless it is already installed."""
    lock, installed = _HERE / "package-lock.json", _HERE / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        options = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        subprocess.run(["npm", "ci", *options], cwd=_HERE, check=True)


def violations(driver: Chrome) -> list[str]:
    """Return the axe-core rules that the page violates, with the offending elements."""
    driver.execute_script(_SCRIPT.read_text(encoding="utf-8"))
    found: dict[str, Any] = driver.execute_async_script(_RUN)
    return [f"{one['id']}: {[node['html'][:200] for node in one['nodes']]}" for one in found["violations"]]


def contrasts(driver: Chrome) -> list[tuple[str, float, float]]:
    """Return the page's contrasts, each with its kind, the measured value and the required minimum."""
    return [(what, found, least) for what, found, least in driver.execute_script(_CONTRAST)]
