"""Standard Webhooks libraries accept the signatures."""

import base64
import hashlib
import hmac

import pytest

from chalicelib.webhooks.signature import new_secret, sign

# This example comes from the reference libraries (https://github.com/standard-webhooks/standard-webhooks).
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE = "msg_p5jXN8AQM9LWM0D4loKWxJek"
TIMESTAMP = 1614265330
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def accepted(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """Return whether a signature is valid. The function uses only the published standard, and no code from the
    service."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret[len("whsec_") :])
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return expected in headers["webhook-signature"].split(" ")


def test_a_signature_equals_the_example_of_the_reference_libraries() -> None:
    assert sign([SECRET], MESSAGE, TIMESTAMP, BODY) == {
        "webhook-id": MESSAGE,
        "webhook-timestamp": str(TIMESTAMP),
        "webhook-signature": SIGNATURE,
    }


def test_during_a_rotation_both_secrets_verify_and_no_other_does() -> None:
    new, old, other = new_secret(), new_secret(), new_secret()
    headers = sign([new, old], MESSAGE, TIMESTAMP, BODY)
    assert [accepted(secret, headers, BODY) for secret in (new, old, other)] == [True, True, False]


@pytest.mark.parametrize("changed", ["webhook-id", "webhook-timestamp", "body"])
def test_a_signature_covers(changed: str) -> None:
    headers, body = sign([SECRET], MESSAGE, TIMESTAMP, BODY), BODY
    if changed == "body":
        body += b" "
    else:
        headers[changed] += "1"
    assert not accepted(SECRET, headers, body)


def test_the_signature_covers_the_exact_bytes_of_the_body() -> None:
    body = '{"text": "Grüße 🎈"}'.encode() + b"\xff\x00%d"
    assert accepted(SECRET, sign([SECRET], MESSAGE, TIMESTAMP, body), body)


def test_a_new_secret_is_32_bytes_in_the_format_of_the_standard() -> None:
    secret = new_secret()
    assert secret.startswith("whsec_")
    assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32


def test_new_secrets_are_unique() -> None:
    assert len({new_secret() for _ in range(100)}) == 100


@pytest.mark.parametrize("secret", ["whsec_no base64!", "whsec_abc"], ids=["letters", "length"])
def test_a_malformed_secret_raises(secret: str) -> None:
    with pytest.raises(ValueError, match=r"base64|padding|character"):
        sign([secret], MESSAGE, TIMESTAMP, BODY)
