"""Step: after a stack is deleted by hand, deployments fail until a new stack adopts the tables and both keys."""

from typing import Any

from botocore.exceptions import ClientError

from infra.deploy import stack, template
from tests.deployment import cloud
from tests.deployment.rehearsal import NAME, STAGE, Failed, run, until
from tests.deployment.rehearsal_client import Gateway


def adopt_deleted_stack(here: cloud.Cloud) -> None:
    """Delete the stack by hand, import its tables and keys into a new stack, and complete that with a deployment."""
    cloudformation = here.sdk("cloudformation")
    try:
        cloudformation.delete_stack(StackName=NAME)
        raise Failed("The stack has no termination protection.")
    except ClientError as error:
        if "TerminationProtection" not in str(error):
            raise
    cloudformation.update_termination_protection(StackName=NAME, EnableTerminationProtection=False)
    cloudformation.delete_stack(StackName=NAME)
    until(lambda: stack.status(cloudformation, NAME) is None, lambda: f"the stack {NAME} still exists")
    refused = here.run("-m", "infra.deploy", "deploy", "--stage", STAGE)
    if f"make adopt STAGE={STAGE}" not in refused.stderr:
        raise Failed(f"A deployment without a stack does not name the command: {refused.stdout}{refused.stderr}")
    run(here, "-m", "infra.deploy", "adopt", "--stage", STAGE)


def read_kept(here: cloud.Cloud, api: Gateway) -> dict[str, Any]:
    """Return what an adoption preserves: decrypted records, the aliases' keys, and the receipts' public keys."""
    declared = template.declared("AWS::KMS::Alias")
    aliases = {one["AliasName"]["Fn::Sub"].replace("${Name}", NAME) for one in declared}
    kms = here.sdk("kms")
    return {
        "agents": api.call("GET", "/v3/agents")["data"],
        "keys": {one["AliasName"]: one["TargetKeyId"] for one in _aliases(kms) if one["AliasName"] in aliases},
        "public keys": [kms.get_public_key(KeyId=alias)["PublicKey"] for alias in aliases - {f"alias/{NAME}"}],
    }


def _aliases(kms: Any) -> list[dict[str, Any]]:
    return [one for page in kms.get_paginator("list_aliases").paginate() for one in page["Aliases"]]
