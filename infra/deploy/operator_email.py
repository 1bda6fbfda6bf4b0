"""Two stage settings in `.chalice/config.json`: the email address for alarms, and the account's budget.

    "alarms_email": "ops@example.com",
    "monthly_budget": 200

The stack stores both settings, so deployments from other machines do not have to set them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click

from infra.deploy import stack, stage

_EMAIL, _BUDGET = "AlarmsEmail", "MonthlyBudget"
# Statuses of a stack that no deployment has updated yet.
_NEW = (None, *stack.NEVER_CREATED, "CREATE_COMPLETE", "IMPORT_COMPLETE")
# SNS accepts only a plain address, without a display name, quotes or comments.
_ADDRESS = re.compile(r"[^\s@\"'(),:;<>\[\\\]]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")


def problems(settings: stage.Settings, stage_name: str) -> Iterator[str]:
    """Yield an error for each invalid setting."""
    email, budget = settings.get("alarms_email", ""), settings.get("monthly_budget", 0)
    if email and not _is_address(email):
        yield f"alarms_email of stage {stage_name} is {email!r}: use one address, such as ops@example.com."
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
        yield f"monthly_budget of stage {stage_name} is {budget!r}: use a whole number of dollars, 0 for no budget."
    elif budget and email == "":
        yield f"monthly_budget of stage {stage_name} notifies alarms_email: set alarms_email, too."


def parameters(cloudformation: Any, name: str, settings: stage.Settings) -> dict[str, str]:
    """Return the stack parameters for these settings.

    The first deployment asks for an address if it runs in a terminal and neither the settings nor the stack has an
    address.
    """
    chosen = {}
    if "alarms_email" in settings:
        chosen[_EMAIL] = str(settings["alarms_email"])
    elif stack.status(cloudformation, name) in _NEW and not _email(cloudformation, name):
        chosen[_EMAIL] = _ask()
    if "monthly_budget" in settings:
        chosen[_BUDGET] = str(settings["monthly_budget"])
    return chosen


def notice(sdk: Callable[[str], Any], name: str) -> str:
    """Return a notice that names the alarm recipient and explains how to confirm the subscription."""
    email = _email(sdk("cloudformation"), name)
    if not email:
        return 'Alarms have no recipient: set "alarms_email" of the stage in .chalice/config.json, and deploy again.'
    topic = stack.outputs(sdk("cloudformation"), name)["AlarmsTopicArn"]
    pages = sdk("sns").get_paginator("list_subscriptions_by_topic").paginate(TopicArn=topic)
    subscribed = [
        subscription
        for page in pages
        for subscription in page["Subscriptions"]
        if subscription["Endpoint"].lower() == email.lower()
    ]
    # AWS deletes subscriptions that are not confirmed within a few days, and CloudFormation does not recreate them.
    if any(subscription["SubscriptionArn"].startswith("arn:") for subscription in subscribed):
        return f"Alarms go to {email}."
    return (
        f"Alarms do not reach {email} until it is confirmed: follow the link in the email from AWS. For another email, "
        f"run `aws sns subscribe --topic-arn {topic} --protocol email --notification-endpoint {email}`."
    )


def _email(cloudformation: Any, name: str) -> str:
    return stack.parameters_of(cloudformation, name, (_EMAIL,)).get(_EMAIL, "")


def _ask() -> str:
    if not sys.stdin.isatty():
        return ""
    while True:
        typed = str(click.prompt("Email address for alarms (Enter for none)", default="", show_default=False)).strip()
        if not typed or _is_address(typed):
            return typed
        click.echo("This is not an email address.")


def _is_address(text: Any) -> bool:
    return isinstance(text, str) and len(text) <= 254 and _ADDRESS.fullmatch(text) is not None
