"""The emulator with two patches for the rehearsal; run it with the interpreter of `.venv-engine`.

    python -m tests.deployment.emulator

It checks the IAM actions that AWS checks, and changes the state of a function without the simulated half second.
"""

import importlib
from typing import Any

actions = importlib.import_module("ministack.core.iam_actions")
_extract_iam_action = actions.extract_iam_action


def extract_aws_action(*arguments: Any, **named: Any) -> str | None:
    """The IAM action of a call. SQS has no action for a batch: `sqs:SendMessage` covers SendMessageBatch."""
    action: str | None = _extract_iam_action(*arguments, **named)
    return action.removesuffix("Batch") if action and action.startswith("sqs:") else action


vars(actions)["extract_iam_action"] = extract_aws_action
vars(importlib.import_module("ministack.services.lambda_svc"))["_LAMBDA_STATE_TRANSITION_DELAY"] = 0.02

if __name__ == "__main__":
    importlib.import_module("ministack.app").main()
