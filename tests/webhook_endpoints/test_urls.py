"""An endpoint's URL must be public and use https. An error names the broken rule without echoing the URL."""

import pytest

from tests.api import Api
from tests.assertions import refused, stored
from tests.builders import webhook_body
from tests.selection import first_case, one_of_each
from tests.webhook_endpoints.endpoints import change, create, read

PUBLIC = [
    "https://example.com",
    "https://example.com/",
    "HTTPS://Example.COM:8443/a/b?c=d&e=%20",
    "https://bücher.example/ärger?ü=1",
    "https://8.8.8.8/hook",
    "https://[2606:4700::1111]:443/hook",
    "https://example.com/?to=http://127.0.0.1/",
    "https://localhost.example.com/",
    "https://example.com/" + "a" * 2028,
]


@first_case
@pytest.mark.parametrize("url", PUBLIC, ids=lambda url: url[:40])
def test_a_public_https_url_is_accepted_and_returned_unchanged(url: str, api: Api) -> None:
    made = create(api, url=url)
    assert made["url"] == read(api, made)["url"] == url
    assert change(api, create(api), url=url)["url"] == url


PRIVATE = "must have a public address"
REFUSED = {
    "http://example.com/secret-path": "must begin with https://",
    "example.com/secret-path": "must begin with https://",
    "javascript:secret-path": "must begin with https://",
    "https://127.0.0.1/secret-path": PRIVATE,
    "https://10.1.2.3/secret-path": PRIVATE,
    "https://172.16.0.1/secret-path": PRIVATE,
    "https://192.168.1.1/secret-path": PRIVATE,
    "https://169.254.169.254/secret-path": PRIVATE,
    "https://0x7f.1/secret-path": PRIVATE,
    "https://0/secret-path": PRIVATE,
    "https://[::1]/secret-path": PRIVATE,
    "https://[fe80::1]/secret-path": PRIVATE,
    "https://[::ffff:192.168.0.1]/secret-path": PRIVATE,
    "https://[64:ff9b::a00:1]/secret-path": PRIVATE,
    "https://user@example.com/secret-path": "must not contain a user name or password",
    "https://user:secret-path@example.com/": "must not contain a user name or password",
    "https://@example.com/secret-path": "must not contain a user name or password",
    "https://example.com/secret-path#": "must not contain a fragment",
    "https://example.com/#secret-path": "must not contain a fragment",
    "https:///secret-path": "must have a valid host",
    "https://example.com:99999/secret-path": "must have a port from 1 to 65535",
    "https://example.com/secret-path\n": "must not contain spaces, control characters or backslashes",
    " https://example.com/secret-path": "must not contain spaces, control characters or backslashes",
    "https://example.com/secret-path" + "a" * 2018: "must have at most 2048 characters",
}


@one_of_each(lambda rule: rule)
@pytest.mark.parametrize(("url", "rule"), REFUSED.items(), ids=[url[:40] for url in REFUSED])
def test_any_other_url_is_refused_with_its_rule_and_not_echoed(url: str, rule: str, api: Api) -> None:
    made = create(api)
    before = stored()
    body = webhook_body(url)
    for answer in (api.post("/v3/webhooks", body), api.patch(f"/v3/webhooks/{made['id']}", body)):
        assert refused(answer, 400, "webhook.url") == f"webhook.url {rule}."
        assert "secret-path" not in answer.text
    assert stored() == before


def test_the_url_is_checked_before_the_endpoint(api: Api) -> None:
    refused(api.patch("/v3/webhooks/nothing", webhook_body("http://example.com")), 400, "webhook.url")


def test_private_addresses_and_http_are_allowed_only_with_the_setting(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for value in ("0", "true", ""):
        monkeypatch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", value)
        refused(api.post("/v3/webhooks", {"webhook": {"url": "https://10.0.0.1", "events": ["webhook_test"]}}), 400,
                "webhook.url")  # fmt: skip
    monkeypatch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")
    made = create(api, url="http://127.0.0.1:8080/hook")
    monkeypatch.delenv("CAMS_WEBHOOK_ALLOW_PRIVATE")
    # Changing other members is still allowed, because the URL is not part of the request.
    assert change(api, made, enabled=False)["url"] == "http://127.0.0.1:8080/hook"
