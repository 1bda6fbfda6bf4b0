"""The emulator as a rehearsal needs it, under the interpreter of `.venv-engine`: `python -m tests.deployment.emulator`.

Where it asks for a right that the cloud does not know, it is made to ask for the one that the cloud asks for; and it
does not pretend to need half a second for each change of a function.
"""

import importlib
from typing import Any

actions = importlib.import_module("ministack.core.iam_actions")
_asked = actions.extract_iam_action


def as_the_cloud_asks(*arguments: Any, **named: Any) -> str | None:
    """`sqs:SendMessage` covers SendMessageBatch, too: there is no right for that alone."""
    action: str | None = _asked(*arguments, **named)
    return action.removesuffix("Batch") if action and action.startswith("sqs:") else action


vars(actions)["extract_iam_action"] = as_the_cloud_asks
vars(importlib.import_module("ministack.services.lambda_svc"))["_LAMBDA_STATE_TRANSITION_DELAY"] = 0.02

if __name__ == "__main__":
    importlib.import_module("ministack.app").main()
