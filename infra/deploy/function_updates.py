"""Function updates during a deployment: one package upload, then parallel updates of all functions.

Chalice uploads the package once per function, and updates the functions one at a time. The event handlers in this
module make `CreateFunction` take the code from a bucket, and defer function updates until Chalice has finished.
Functions that already have the code and settings are not updated. `apply` also updates function handlers, because
Chalice never does.
"""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import click
from boto3.session import Session
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.handlers import BUILTIN_HANDLERS

Parameters = dict[str, Any]

# Lambda accepts 15 function changes per second, and each update takes at least a second.
_UPDATES_AT_ONCE = 8
_RETRIES = Config(retries={"mode": "standard", "max_attempts": 10})
_FIRST_POLL_SECONDS = 0.1
_LONGEST_POLL_SECONDS = 2.0
_TIMEOUT_SECONDS = 300
_CONTEXT = "cams_function"


class FunctionUpdates:
    """The function updates of one deployment. `bucket` is the stack's package bucket."""

    def __init__(self, session: Session, bucket: str) -> None:
        self._awslambda, self._s3 = session.client("lambda", config=_RETRIES), session.client("s3")
        self._bucket = bucket
        self._uploaded: dict[str, int] = {}
        self._created = 0
        self._deployed: dict[str, Parameters] = {}
        self._code: dict[str, Parameters] = {}
        self._settings: dict[str, Parameters] = {}
        self._first_version_change = 0.0

    def register(self) -> None:
        """Register the event handlers for all SDK sessions that are created later."""
        BUILTIN_HANDLERS.extend(
            [
                ("provide-client-params.lambda.CreateFunction", self._create),
                ("provide-client-params.lambda.UpdateFunctionCode", self._hold_code),
                ("provide-client-params.lambda.UpdateFunctionConfiguration", self._hold_settings),
                ("before-call.lambda.UpdateFunctionCode", _answer),
                ("before-call.lambda.UpdateFunctionConfiguration", _answer),
            ]
        )

    def apply(self, handlers: Mapping[str, str]) -> str:
        """Update every function that differs; return a one-line summary. Raise ClickException on failure.

        `handlers` maps deployed function names to handlers, such as `chalicelib.functions.deliver`.
        """
        for name, deployed in self._deployed.items():
            if name in handlers and handlers[name] != deployed["Handler"]:
                self._settings.setdefault(name, {"FunctionName": name})["Handler"] = handlers[name]
        names = sorted(self._code.keys() | self._settings.keys())
        started = time.monotonic()
        with ThreadPoolExecutor(_UPDATES_AT_ONCE) as pool:
            list(pool.map(self._update, names))
        now = time.monotonic()
        megabytes = sum(self._uploaded.values()) / 1_000_000
        sentences = [f"uploaded {megabytes:.1f} MB"] if self._uploaded else []
        sentences += [f"created {self._created} functions"] if self._created else []
        sentences += [f"updated {len(names)} functions in {now - started:.1f} s"] if names else []
        if self._code:
            sentences.append(f"versions were mixed for {now - (self._first_version_change or started):.1f} s")
        return "; ".join(sentences) or "no function has changed"

    def _create(self, params: Parameters, **_: Any) -> Parameters:
        self._created += 1
        self._first_version_change = self._first_version_change or time.monotonic()
        return {**params, "Code": self._location(params["Code"]["ZipFile"])}

    def _hold_code(self, params: Parameters, context: Parameters, **_: Any) -> Parameters:
        name, package = params["FunctionName"], params["ZipFile"]
        deployed = self._deployed[name] = self._awslambda.get_function_configuration(FunctionName=name)
        digest = base64.b64encode(hashlib.sha256(package).digest()).decode()
        architectures = params.get("Architectures", deployed["Architectures"])
        if (digest, architectures) != (deployed["CodeSha256"], deployed["Architectures"]):
            own = {"FunctionName": name, "Architectures": architectures}
            self._code[name] = {**own, **self._location(package)}
        context[_CONTEXT] = deployed
        return {"FunctionName": name}

    def _hold_settings(self, params: Parameters, context: Parameters, **_: Any) -> None:
        deployed = self._deployed[params["FunctionName"]]
        if not _has(deployed, params):
            self._settings[params["FunctionName"]] = {**params}
        context[_CONTEXT] = deployed

    def _location(self, package: bytes) -> Parameters:
        """Upload the package once, and return its location in the bucket.

        An object from an earlier deployment is replaced, because it might expire before Lambda reads it.
        """
        key = f"{hashlib.sha256(package).hexdigest()}.zip"
        if key not in self._uploaded:
            self._s3.put_object(Bucket=self._bucket, Key=key, Body=package)
            self._uploaded[key] = len(package)
        return {"S3Bucket": self._bucket, "S3Key": key}

    def _update(self, name: str) -> None:
        """Update one function: first the code, because the settings list the stored layouts that the code reads."""
        self._wait(name)
        if name in self._code:
            self._awslambda.update_function_code(**self._code[name])
            self._require_success(name)
        if name in self._settings:
            self._awslambda.update_function_configuration(**self._settings[name])
            self._require_success(name)

    def _require_success(self, name: str) -> None:
        configuration = self._wait(name)
        if configuration["LastUpdateStatus"] != "Successful":
            reason = configuration.get("LastUpdateStatusReason", "no reason is given")
            raise click.ClickException(f"Lambda could not update the function {name}: {reason}")

    def _wait(self, name: str) -> Parameters:
        """Wait until a function has no update in progress. Return its configuration."""
        deadline, pause = time.monotonic() + _TIMEOUT_SECONDS, _FIRST_POLL_SECONDS
        while True:
            # GetFunction has a higher limit: 100 calls per second.
            configuration: Parameters = self._awslambda.get_function(FunctionName=name)["Configuration"]
            if configuration.get("LastUpdateStatus") != "InProgress" or time.monotonic() > deadline:
                return configuration
            time.sleep(pause)
            pause = min(_LONGEST_POLL_SECONDS, pause * 2)


def _has(deployed: Parameters, settings: Parameters) -> bool:
    """Return whether a function has these settings. Lambda omits empty settings or returns them with empty members."""
    return all(_compact(value) == _compact(deployed.get(name)) for name, value in settings.items())


def _compact(setting: Any) -> Any:
    members = {name: one for name, one in setting.items() if one} if isinstance(setting, dict) else setting
    return members or None


def _answer(context: Parameters, **_: Any) -> tuple[AWSResponse, Parameters]:
    """Return a response to a deferred call in place of Lambda, so that Chalice does not wait for the update."""
    return AWSResponse("", 200, {}, None), {**context[_CONTEXT], "LastUpdateStatus": "Successful"}
