"""A browser without JavaScript that keeps cookies, follows redirects and submits forms."""

import html
import re
from typing import Any
from urllib.parse import urlencode

from tests.api import Answer, Api

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
"""The headers of a submitted form."""
_FORM = re.compile(r'<form([^>]*)method="post" action="([^"]*)"[^>]*>(.*?)</form>', re.DOTALL)
_OUTSIDE = re.compile(r'<input type="hidden" form="([^"]*)" name="([^"]*)" value="([^"]*)"')
_HIDDEN = re.compile(r'<input type="hidden" name="([^"]*)" value="([^"]*)"')
_POSITION = re.compile(r'data-(after|version|since)="([^"]*)"')


def live_path(text: str) -> str:
    """Return the address at which the page's script asks for what is new after a page or an earlier response."""
    return f"/live?{urlencode(dict(_POSITION.findall(text)))}"


def csrf_field(page: Answer) -> dict[str, str]:
    """Return the field of a page's forms that contains the session's CSRF token."""
    return {name: value for name, value in _HIDDEN.findall(page.text) if name == "form"}


def is_asked_once(page: Answer, action: str) -> bool:
    """Return whether a form appears only after a click on a summary, with a question above its button."""
    form = rf'<details class="menu"><summary[^>]*>[^<]*</summary><form class="ask"[^>]*{action}">.*?<p>[^<]*</p><button'
    return len(re.findall(form, page.text)) == len(re.findall(f'<form[^>]*{action}"', page.text)) == 1


class Browser:
    """The browser of a person who uses a workspace's console."""

    def __init__(self, workspace_id: str) -> None:
        self.home = f"/console/{workspace_id}"
        self.cookie = ""
        self._workspace_id = workspace_id
        self._api = Api()

    def another(self) -> "Browser":
        """Return another browser, without cookies, for the same workspace."""
        return Browser(self._workspace_id)

    def open(self, path: str, **headers: str) -> Answer:
        """GET a console page, and follow redirects."""
        return self._follow(self._send("GET", self.home + path, None, headers))

    def post(self, path: str, fields: dict[str, Any], **headers: str) -> Answer:
        """POST form fields to a page, and follow redirects."""
        return self._follow(self._submit(self.home + path, fields, **headers))

    def submit(self, page: Answer, action: str, fields: dict[str, Any]) -> Answer:
        """Submit the form whose address ends with `action`, with its hidden fields.

        If several forms match, choose the form with the hidden `action` in the fields, or else the first form.
        """
        forms = []
        for attributes, address, content in _FORM.findall(page.text):
            if html.unescape(address).endswith(action):
                outside = [field[1:] for field in _OUTSIDE.findall(page.text) if f'id="{field[0]}"' in attributes]
                hidden = {name: html.unescape(value) for name, value in (*_HIDDEN.findall(content), *outside)}
                forms.append((html.unescape(address).removeprefix(self.home), hidden))
        assert forms, f"the page contains no form for {action}"
        matching = [form for form in forms if form[1].get("action") and form[1]["action"] == fields.get("action")]
        path, hidden = (matching or forms)[0]
        return self.post(path, {**hidden, **fields})

    def sign_in(self, email: str, password: str) -> Answer:
        """Sign in as a client."""
        return self.post("", {"email": email, "password": password})

    def start_session(self, **fields: str) -> None:
        """Sign in without opening the first page."""
        assert self._submit(self.home, fields).status == 303

    def _submit(self, path: str, fields: dict[str, Any], **headers: str) -> Answer:
        sent = {**FORM, **headers}
        return self._send("POST", path, urlencode(fields).encode(), sent)

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        sent = {**headers, **({"Cookie": self.cookie} if self.cookie else {})}
        answer = self._api.call(method, path, body, sent)
        for cookie in answer.headers.get("set-cookie", "").splitlines():
            name, _, value = cookie.partition(";")[0].partition("=")
            kept = dict(one.split("=", 1) for one in self.cookie.split("; ") if one)
            self.cookie = "; ".join(f"{name}={value}" for name, value in {**kept, name: value}.items())
        return answer

    def _follow(self, answer: Answer) -> Answer:
        while answer.status == 303:
            answer = self._send("GET", answer.headers["location"], None, {})
        return answer
