"""SDK errors are printed as one sentence with the operator's next step."""

import pytest
from botocore import exceptions
from botocore.exceptions import BotoCoreError, ClientError

from infra.deploy import sdk_errors

_DENIED = "User: arn:aws:iam::1:user/ci is not authorized to perform: iam:CreateRole"
_PREFIX = "An error occurred"


def client_error(code: str, message: str, operation: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, operation)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (exceptions.NoRegionError(), sdk_errors.NO_REGION),
        (exceptions.InvalidRegionError(region_name="eu west"),
         "The region is invalid: correct AWS_DEFAULT_REGION or the profile. (Provided region_name 'eu west' doesn't "
         "match a supported format)"),
        (exceptions.NoCredentialsError(),
         "No valid credentials: set AWS_PROFILE, or log in. (Unable to locate credentials)"),
        (exceptions.ProfileNotFound(profile="nope"),
         "No valid credentials: set AWS_PROFILE, or log in. (The config profile (nope) could not be found)"),
        (client_error("ExpiredToken", "The token is expired.", "GetCallerIdentity"),
         f"No valid credentials: set AWS_PROFILE, or log in. ({_PREFIX} (ExpiredToken) when calling the "
         "GetCallerIdentity operation: The token is expired)"),
        (exceptions.EndpointConnectionError(endpoint_url="http://127.0.0.1:9/"),
         "AWS cannot be reached: check the network, the region and AWS_ENDPOINT_URL. (Could not connect to the "
         'endpoint URL: "http://127.0.0.1:9/")'),
        (exceptions.ReadTimeoutError(endpoint_url="http://127.0.0.1:9/"),
         "AWS cannot be reached: check the network, the region and AWS_ENDPOINT_URL. (Read timeout on endpoint URL: "
         '"http://127.0.0.1:9/")'),
        (client_error("AccessDenied", _DENIED, "CreateRole"),
         f"The credentials lack a permission: add it, then try again. ({_PREFIX} (AccessDenied) when calling the "
         f"CreateRole operation: {_DENIED})"),
        (client_error("LimitExceeded", "Too many\nroles.", "CreateRole"),
         f"{_PREFIX} (LimitExceeded) when calling the CreateRole operation: Too many roles."),
    ],
)  # fmt: skip
def test_an_error_is_one_sentence(error: BotoCoreError | ClientError, sentence: str) -> None:
    assert sdk_errors.sentence(error) == sentence
