"""`make demo`, after the data: run the example bot for the demonstration's hotel, and write to it as a visitor.

python -m infra.demo.bot --state .local
"""

import contextlib
import os
import runpy
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import click

from infra.demo import texts
from infra.demo.service import Service, connect
from infra.local import state
from infra.local.children import ROOT
from infra.local.demonstration import USER_AGENT

_BOT = ROOT / "examples/bot.py"
_VISITOR, _QUESTION = "demo-guest", "Do you have a room with a view?"
_SENDERS = {"human": "Visitor", "bot": "Bot"}
_SECONDS_BETWEEN_READS = 0.5


@click.command(help="Run the example bot for the local run that uses the state directory, until Ctrl-C.")
@click.option("--state", "directory", default=".local", show_default=True, type=click.Path(path_type=Path))
def main(directory: Path) -> None:
    """Run the bot in this process, so that the run does not log its requests, and one conversation with it."""
    service = connect(directory, "feeds")
    lock = state.lock(directory, "bot.lock")
    if lock is None:
        raise click.ClickException("The bot is already running in another terminal.")
    os.environ |= {"CAMS_URL": f"http://{service.address}", "CAMS_API_KEY": service.access_token}
    opener = urllib.request.build_opener()
    opener.addheaders = [("User-Agent", USER_AGENT)]
    urllib.request.install_opener(opener)
    position = directory / "bot.position"
    threading.Thread(target=_visit, args=(service, directory, position), daemon=True).start()
    sys.argv = [str(_BOT), texts.HOTEL, str(position)]
    with lock, contextlib.suppress(KeyboardInterrupt):
        runpy.run_path(str(_BOT), run_name="__main__")
    print("\nStopped the bot. The next `make demo` continues where it stopped.", flush=True)
    os._exit(0)  # without waiting for answers; the next start completes them


def _visit(service: Service, directory: Path, position: Path) -> None:
    """When the bot is ready, print how to try it. Ask a question, and print the conversation as it grows."""
    while not position.exists():
        time.sleep(_SECONDS_BETWEEN_READS)
    path = f"/agents/{texts.HOTEL}/interact/{_VISITOR}/messages"
    print(
        f"\nThe bot of {_BOT.relative_to(ROOT)} answers for {texts.HOTEL}. Press Ctrl-C to stop it.\n\n"
        f"  Write to it:  curl -K {directory / 'curlrc'} -H 'Content-Type: application/json' \\\n"
        f"                  http://{service.address}{path} \\\n"
        """                  -d '{"messages": [{"from": "human", "item": {"text": "Can I talk to a person?"}}]}'\n"""
        f"  Take over:    http://{service.address}/console/{service.workspace_id}/convos/{texts.HOTEL}/{_VISITOR}\n"
        "                While the conversation is assigned to a person, the bot is silent.\n",
        flush=True,
    )
    if service.call("GET", f"/v3/agents/{texts.HOTEL}/convos/{_VISITOR}") is None:
        metadata = {"origin": next(iter(texts.ORIGINS))}
        service.call("POST", f"/agents/{texts.HOTEL}/interact/{_VISITOR}/state", {"metadata": metadata})
    question = {"from": "human", "type": "text", "item": {"text": _QUESTION}}
    service.call("POST", path, {"messages": [question]})
    printed: dict[str, Any] = {}
    while True:
        time.sleep(_SECONDS_BETWEEN_READS)
        with contextlib.suppress(click.ClickException):  # the run has stopped; the bot reports this
            for message in reversed(service.call("GET", f"{path}?limit=3")):
                if printed.get(message["mid"]) != message["item"]:
                    printed[message["mid"]] = message["item"]
                    print(f"  {_SENDERS.get(message.get('from'), 'Other')}: {message['item'].get('text')}", flush=True)


if __name__ == "__main__":
    main()
