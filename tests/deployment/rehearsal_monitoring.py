"""Step: check a deployed stage's alarms, its subscription, and the problems that the function `check` reports."""

from infra.deploy import template
from tests.deployment import cloud
from tests.deployment.rehearsal import NAME, Failed, run

EMAIL = "ops@example.com"
_CHECK = "from infra.deploy import self_check; print(*self_check.check({}, None), sep='\\n')"


def check_monitoring(here: cloud.Cloud) -> int:
    """Check the monitoring while a mapping is temporarily disabled; return the number of alarms.

    The emulator's functions lack the SDK, so the check runs in a separate process that has the deployed function's
    variables.
    """
    alarms = {one["AlarmName"] for one in here.sdk("cloudwatch").describe_alarms()["MetricAlarms"]}
    declared = {one["AlarmName"]["Fn::Sub"].replace("${Name}", NAME) for one in _declared_alarms()}
    if alarms != declared:
        raise Failed(f"The account's alarms differ from the declared alarms:  {alarms ^ declared}")
    subscribed = [one["Endpoint"] for one in here.sdk("sns").list_subscriptions()["Subscriptions"]]
    if subscribed != [EMAIL]:
        raise Failed(f"Alarms notify {subscribed}, not {EMAIL}.")
    _expect(here, "")
    awslambda = here.sdk("lambda")
    (mapping,) = awslambda.list_event_source_mappings(FunctionName=f"{NAME}-fan_out_clients")["EventSourceMappings"]
    awslambda.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    _expect(here, f"The event source mapping of {NAME}-fan_out_clients is Disabled.")
    awslambda.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)
    return len(alarms)


def _declared_alarms() -> list[dict[str, dict[str, str]]]:
    return template.declared("AWS::CloudWatch::Alarm")


def _expect(here: cloud.Cloud, problem: str) -> None:
    function = here.sdk("lambda").get_function_configuration(FunctionName=f"{NAME}-check")
    reported = run(here, "-c", _CHECK, **function["Environment"]["Variables"]).partition("\n")[2].strip()
    if reported != problem:
        raise Failed(f"The check reports {reported!r} instead of {problem!r}.")
