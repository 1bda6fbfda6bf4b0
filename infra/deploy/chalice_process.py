"""Run Chalice's command line in a child process, with modified behaviour.

The parent calls `run`. The child is `python -m infra.deploy.chalice_process`; it runs in `build/<stage>` and imports
the app with the stage's environment variables. The child exits when the parent dies or stops. Otherwise, it could
create functions and an API alongside those of the next deployment. The child does not import `chalicelib` from the
checkout.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

import click
from boto3.session import Session
from botocore.exceptions import BotoCoreError, ClientError

from infra.deploy import function_updates, sdk_errors
from infra.local import lifeline

_ROOT = Path(__file__).resolve().parents[2]
_LOG = "chalice.log"
# The sum is shorter than the time for which another command watches a stopped command's lock (`stage_lock`).
_BEAT_SECONDS, _LONGEST_SILENCE_SECONDS = 1.0, 3.0
_EMPTY_APP = 'from chalice import Chalice\n\napp = Chalice(app_name="cams")\n'


def directory(stage: str) -> Path:
    """Return the directory that Chalice deploys a stage from."""
    return _ROOT / "build" / stage


def prepare_deletion(stage: str) -> Path:
    """Write an app without functions, so that Chalice deletes everything that its record lists."""
    project = directory(stage)
    (project / ".chalice").mkdir(parents=True, exist_ok=True)
    (project / "app.py").write_text(_EMPTY_APP, encoding="utf-8")
    config = {"version": "2.0", "app_name": "cams", "stages": {stage: {}}}
    (project / ".chalice" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return project


def run(project: Path, verb: str, stage: str, **variables: str) -> str:
    """Run `chalice deploy` or `chalice delete` in a project; return the last line of its output.

    `variables` are added to the child's environment. `deploy` requires `CAMS_PACKAGES_BUCKET` and
    `CAMS_PYTHON_VERSION`, and its last output line is the summary from `FunctionUpdates.apply`. The complete output is
    written to `chalice.log` in the project. Raise ClickException with Chalice's error.
    """
    log = project / _LOG
    command = [sys.executable, "-m", __name__, "--project-dir", str(project), verb, "--stage", stage]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=_ROOT,
            # The app's guard replaces `chalice deploy` with `infra.deploy`, except in this child process.
            env={**os.environ, **variables, "CAMS_DEPLOYER": "1"},
            stdin=subprocess.PIPE,  # the lifeline
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            code = _wait(process)
        finally:  # after Ctrl-C: the stage lock is held until Chalice has exited
            process.kill()
            process.wait()
    if code:
        reason = _last_line(log) if code == 1 else f"exit code {code}."
        raise click.ClickException(f"`chalice {verb}` failed: {reason} Run the command again; see {log} for details.")
    return _last_line(log)


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for the child and return its exit status. Keep writing to the child's lifeline while waiting."""
    end = cast("IO[bytes]", process.stdin).fileno()
    while True:
        try:
            return process.wait(_BEAT_SECONDS)
        except subprocess.TimeoutExpired:
            with suppress(BrokenPipeError):
                os.write(end, b".")


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line for line in reversed(lines) if line.strip()), "no output.")


def main() -> None:
    """Run Chalice's command line. If it fails, print its error as the last line."""
    lifeline.end_with_parent(_LONGEST_SILENCE_SECONDS)
    from chalice.cli import cli

    try:
        if bucket := os.environ.get("CAMS_PACKAGES_BUCKET"):
            updates = function_updates.FunctionUpdates(Session(), bucket)
            updates.register()
            _pin_runtime(f"python{os.environ['CAMS_PYTHON_VERSION']}")
        cli.main(sys.argv[1:], obj={}, standalone_mode=False)
        if bucket:
            print(updates.apply(_handlers()))
    except Exception as error:
        traceback.print_exc()
        sys.stdout.flush()
        print(_sentence(error), flush=True)
        sys.exit(1)


def _pin_runtime(runtime: str) -> None:
    """Make Chalice deploy functions with this runtime. By default, Chalice uses its own Python version."""
    from chalice.config import Config

    Config.lambda_python_version = property(lambda _: runtime)  # type: ignore[assignment,method-assign]


def _handlers() -> dict[str, str]:
    """Return the handlers of the functions with an event source, keyed by deployed function name."""
    app, stage = sys.modules["app"].app, sys.argv[sys.argv.index("--stage") + 1]
    return {f"{app.app_name}-{stage}-{source.name}": source.handler_string for source in app.event_sources}


def _sentence(error: Exception) -> str:
    """Return the SDK error that Chalice has wrapped, as one line of text."""
    cause = error
    while original := getattr(cause, "original_error", None):
        cause = original
    if isinstance(cause, (BotoCoreError, ClientError)):
        return sdk_errors.sentence(cause)
    text = " ".join((cause.format_message() if isinstance(cause, click.ClickException) else str(cause)).split())
    return f"{(text or type(cause).__name__).rstrip('.')}."


if __name__ == "__main__":
    main()
