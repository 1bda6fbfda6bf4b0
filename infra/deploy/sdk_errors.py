"""AWS SDK errors: expected errors can be ignored, and all others become one sentence for the operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,
    CredentialRetrievalError,
    HTTPClientError,
    InvalidRegionError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)

MISSING = {
    "AWS.SimpleQueueService.NonExistentQueue",
    "NoSuchEntity",
    "NotFoundException",
    "QueueDoesNotExist",
    "ResourceNotFoundException",
}
"""The error codes with which AWS services report a missing resource."""
NO_REGION = "No region: set AWS_DEFAULT_REGION, or set AWS_PROFILE to a profile that has one."
_NO_CREDENTIALS = (
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)
_INVALID_CREDENTIALS = {
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
_DENIED = {"AccessDenied", "AccessDeniedException", "AuthorizationError", "UnauthorizedOperation"}


def code(error: ClientError) -> str:
    """Return the code of an error response."""
    return str(error.response.get("Error", {}).get("Code", ""))


@contextmanager
def ignore(*codes: str) -> Iterator[None]:
    """Suppress errors with one of these codes. A suppressed error still ends the block."""
    try:
        yield
    except ClientError as error:
        if code(error) not in codes:
            raise


def unless_missing(call: Callable[..., dict[str, Any]], **arguments: str) -> dict[str, Any] | None:
    """Return a call's response, or None if the resource does not exist."""
    with ignore(*MISSING):
        return call(**arguments)
    return None


def sentence(error: BotoCoreError | ClientError) -> str:
    """Return the error as one line of text."""
    text = " ".join(str(error).split()).rstrip(".")
    error_code = code(error) if isinstance(error, ClientError) else ""
    if isinstance(error, NoRegionError):
        return NO_REGION
    if isinstance(error, InvalidRegionError):
        return f"The region is invalid: correct AWS_DEFAULT_REGION or the profile. ({text})"
    if isinstance(error, _NO_CREDENTIALS) or error_code in _INVALID_CREDENTIALS:
        return f"No valid credentials: set AWS_PROFILE, or log in. ({text})"
    if isinstance(error, (ConnectionError, HTTPClientError)):
        return f"AWS cannot be reached: check the network, the region and AWS_ENDPOINT_URL. ({text})"
    if error_code in _DENIED:
        return f"The credentials lack a permission: add it, then try again. ({text})"
    return f"{text}."
