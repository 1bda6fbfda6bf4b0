"""The user that runs the rehearsal's commands with the permissions in the deployer's policy."""

from __future__ import annotations

import json
from typing import Any

from infra.local import children
from tests.deployment import cloud
from tests.deployment.rehearsal import STAGE, Failed

POLICY = children.ROOT / "infra" / "deployer-policy.json"
# A condition key that the emulator does not support.
_UNKNOWN_KEY = "lambda:FunctionArn"


def read_statements() -> list[dict[str, Any]]:
    """Return the policy's statements."""
    statements: list[dict[str, Any]] = json.loads(POLICY.read_text(encoding="utf-8"))["Statement"]
    return statements


def create_user(here: cloud.Cloud, name: str, without: str = "") -> dict[str, str]:
    """Create a user with the policy, minus the action `without`; return the user's environment variables."""
    iam = here.sdk("iam")
    document = {"Version": "2012-10-17", "Statement": [_for_emulator(one, without) for one in read_statements()]}
    iam.create_user(UserName=name)
    policy = iam.create_policy(PolicyName=name, PolicyDocument=json.dumps(document))["Policy"]
    iam.attach_user_policy(UserName=name, PolicyArn=policy["Arn"])
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}


def become(here: cloud.Cloud) -> None:
    """Run all later commands as a user with the policy."""
    here.environment.update(create_user(here, "deployer"))


def check_missing_permission(here: cloud.Cloud) -> None:
    """Check that a deployment that lacks one permission fails with a one-sentence error."""
    action = "cloudformation:CreateStack"
    ran = here.run("-m", "infra.deploy", "deploy", "--stage", STAGE, **create_user(here, "hampered", without=action))
    lines = ran.stderr.strip().splitlines()
    if ran.returncode != 1 or len(lines) != 1 or "CreateStack" not in lines[0]:
        raise Failed(f"Without {action}, a deployment exited with {ran.returncode}:\n{ran.stdout}{ran.stderr}")


def _for_emulator(statement: dict[str, Any], without: str) -> dict[str, Any]:
    actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
    known = {**statement, "Action": [action for action in actions if action != without]}
    if any(_UNKNOWN_KEY in condition for condition in statement.get("Condition", {}).values()):
        del known["Condition"]
    return known
