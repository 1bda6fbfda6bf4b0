"""Errors of the AWS SDK as one sentence for the operator: what is wrong, and what to do."""

from __future__ import annotations

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


def sentence(error: BotoCoreError | ClientError) -> str:
    """Return the error in one line."""
    text = " ".join(str(error).split()).rstrip(".")
    code = error.response.get("Error", {}).get("Code") if isinstance(error, ClientError) else None
    if isinstance(error, NoRegionError):
        return NO_REGION
    if isinstance(error, InvalidRegionError):
        return f"The region is invalid: correct AWS_DEFAULT_REGION or the profile. ({text})"
    if isinstance(error, _NO_CREDENTIALS) or code in _INVALID_CREDENTIALS:
        return f"No valid credentials: set AWS_PROFILE, or log in. ({text})"
    if isinstance(error, (ConnectionError, HTTPClientError)):
        return f"AWS cannot be reached: check the network, the region and AWS_ENDPOINT_URL. ({text})"
    if code in _DENIED:
        return f"The credentials lack a permission: add it, then repeat. ({text})"
    return f"{text}."
