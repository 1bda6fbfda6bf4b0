"""Signatures as a receiver with any Standard Webhooks library checks them."""

import base64
import hashlib
import hmac

import pytest

from chalicelib.webhooks.signature import new_secret, sign

# The example of the reference libraries (https://github.com/standard-webhooks/standard-webhooks).
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE = "msg_p5jXN8AQM9LWM0D4loKWxJek"
TIMESTAMP = 1614265330
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def accepted(secret: str, headers: dict[str, str], body: bytes) -> bool:
    """What a receiver does, written from the standard alone."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret[len("whsec_") :])
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return expected in headers["webhook-signature"].split(" ")


def test_the_signature_is_that_of_the_reference_libraries() -> None:
    assert sign([SECRET], MESSAGE, TIMESTAMP, BODY) == {
        "webhook-id": MESSAGE,
        "webhook-timestamp": str(TIMESTAMP),
        "webhook-signature": SIGNATURE,
    }


def test_both_secrets_of_a_rotation_verify_and_no_other_does() -> None:
    new, old, strange = new_secret(), new_secret(), new_secret()
    headers = sign([new, old], MESSAGE, TIMESTAMP, BODY)
    assert [accepted(secret, headers, BODY) for secret in (new, old, strange)] == [True, True, False]


@pytest.mark.parametrize("changed", ["webhook-id", "webhook-timestamp", "body"])
def test_a_signature_covers(changed: str) -> None:
    headers, body = sign([SECRET], MESSAGE, TIMESTAMP, BODY), BODY
    if changed == "body":
        body += b" "
    else:
        headers[changed] += "1"
    assert not accepted(SECRET, headers, body)


def test_a_body_is_signed_as_the_bytes_it_is() -> None:
    body = '{"text": "Grüße 🎈"}'.encode() + b"\xff\x00%d"
    assert accepted(SECRET, sign([SECRET], MESSAGE, TIMESTAMP, body), body)


def test_a_new_secret_is_32_bytes_in_the_spelling_of_the_standard() -> None:
    secret = new_secret()
    assert secret.startswith("whsec_")
    assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32


def test_no_two_secrets_are_the_same() -> None:
    assert len({new_secret() for _ in range(100)}) == 100


@pytest.mark.parametrize("secret", ["whsec_no base64!", "whsec_abc"], ids=["letters", "length"])
def test_a_damaged_secret_signs_nothing(secret: str) -> None:
    with pytest.raises(ValueError, match=r"base64|padding|character"):
        sign([secret], MESSAGE, TIMESTAMP, BODY)
