"""A stage's concurrent executions scale with those of the account."""

from typing import Any

import boto3
import pytest

from infra.deploy import concurrency, template
from infra.deploy.functions import declared_functions
from tests.deployment import throttling
from tests.selection import one_of_each

QUEUES = (
    "deliver",
    "deliver_slow",
    "maintain",
    "erase",
    "count_hours",
    "notify_people",
)
FUNCTIONS = {function.name for function in declared_functions()}
# The account's concurrent executions -> each queue's maximum in the order above, the first two functions' reservations,
# the throttle, and the conversation stream's parallelization factor.
SIZES = {
    10: ((2, 2, 2, 2, 2, 2), {}, 10, 1),
    50: ((10, 2, 2, 2, 2, 2), {}, 50, 1),
    100: ((20, 5, 2, 2, 2, 2), {}, 100, 1),
    500: ((100, 25, 5, 5, 2, 2), {"deliver": 100, "deliver_slow": 25}, 500, 2),
    1_000: ((200, 50, 10, 10, 5, 2), {"deliver": 200, "deliver_slow": 50}, 1_000, 4),
    10_000: ((200, 50, 10, 10, 5, 2), {"deliver": 200, "deliver_slow": 50}, 1_000, 4),
}


class Account:
    """A fake Lambda client for an account with `unreserved` concurrent executions."""

    def __init__(self, unreserved: int) -> None:
        self.unreserved = unreserved

    def get_account_settings(self) -> dict[str, Any]:
        return {"AccountLimit": {"ConcurrentExecutions": 9_999, "UnreservedConcurrentExecutions": self.unreserved}}


@pytest.mark.parametrize("executions", SIZES)
def test_the_values_of_an_account(executions: int) -> None:
    queues, reserved, throttle, factor = SIZES[executions]
    settings = concurrency.with_defaults({}, executions)
    assert concurrency.reservations(settings) == reserved
    assert settings["throttle"] == {"rate": throttle, "burst": throttle}
    scaled = concurrency.mapping_settings(settings, executions)
    expected = {name: number for name, number in zip(QUEUES, queues, strict=True) if name in FUNCTIONS}
    assert {name: scaled[name]["ScalingConfig"]["MaximumConcurrency"] for name in expected} == expected
    assert scaled["fan_out_conversations"] == {"ParallelizationFactor": factor}
    assert scaled["fan_out_leads"] == {"ParallelizationFactor": 1}


def test_an_account_of_full_size_has_the_values_of_the_table_of_functions() -> None:
    scaled = concurrency.mapping_settings({}, 1_000)
    assert scaled.keys() == {one.name for one in declared_functions() if one.queue or one.stream}
    for function in declared_functions():
        assert scaled.get(function.name, {}).items() <= function.mapping_settings.items()


@pytest.mark.parametrize("executions", [10, 50, 100, 134, 500, 1_000])
def test_the_api_has_its_share_besides_the_queues_of_deliveries(executions: int) -> None:
    """Check that deliveries and all admitted requests fit into the account, even if every request takes 0.5 s."""
    settings = concurrency.with_defaults({}, executions)
    scaled = concurrency.mapping_settings(settings, executions)
    deliveries = sum(scaled[name]["ScalingConfig"]["MaximumConcurrency"] for name in ("deliver", "deliver_slow"))
    assert settings["throttle"]["rate"] * 0.5 + deliveries <= executions
    assert executions - deliveries >= 4


def test_a_queue_has_at_least_the_minimum_of_aws() -> None:
    model = boto3.client("lambda").meta.service_model
    assert model.shape_for("MaximumConcurrency").metadata == {"min": 2, "max": 1_000}
    for executions in range(concurrency.MINIMUM, 1_000, 7):
        for one in concurrency.mapping_settings({}, executions).values():
            assert one.get("ScalingConfig", {"MaximumConcurrency": 2})["MaximumConcurrency"] >= 2
            assert one.get("ParallelizationFactor", 1) >= 1


def test_aws_keeps_what_it_does_not_let_be_reserved() -> None:
    for executions in range(concurrency.MINIMUM, 1_000):
        reserved = concurrency.reservations(concurrency.with_defaults({}, executions))
        assert not reserved or executions - sum(reserved.values()) >= 100


def test_the_reserved_concurrency_of_an_operator_is_kept() -> None:
    own: dict[str, Any] = {"deliver": {"reserved_concurrency": 20}, "deliver_slow": {"reserved_concurrency": None}}
    assert concurrency.reservations(concurrency.with_defaults({"lambda_functions": own}, 1_000)) == {"deliver": 20}
    own.pop("deliver_slow")
    settings = concurrency.with_defaults({"lambda_functions": own}, 1_000)
    assert concurrency.reservations(settings) == {"deliver": 20, "deliver_slow": 50}
    scaled = concurrency.mapping_settings(settings, 1_000)
    assert scaled["deliver"] == {"ScalingConfig": {"MaximumConcurrency": 20}}
    assert concurrency.reservations(concurrency.with_defaults({"lambda_functions": own}, 120)) == {"deliver": 20}


def test_a_large_reservation_of_an_operator_leaves_no_default_one() -> None:
    own = {"api_handler": {"reserved_concurrency": 800}}
    assert concurrency.reservations(concurrency.with_defaults({"lambda_functions": own}, 1_000)) == {"api_handler": 800}


def test_what_the_last_deployment_reserved_is_available_again() -> None:
    current = concurrency.with_defaults({}, 500)
    assert concurrency.available_executions(Account(500 - 125), current) == 500
    assert concurrency.available_executions(Account(500), {}) == 500


def test_another_stage_lowers_the_defaults() -> None:
    first = concurrency.with_defaults({}, 1_000)
    second = concurrency.with_defaults({}, concurrency.available_executions(Account(1_000 - 250), {}))
    unreserved = 1_000 - 250 - sum(concurrency.reservations(second).values())
    again = concurrency.with_defaults({}, concurrency.available_executions(Account(unreserved), first))
    assert [one["throttle"]["rate"] for one in (first, second, again)] == [1_000, 750, 813]


@pytest.mark.parametrize(("executions", "refused", "warned"), [(5, True, True), (9, True, True), (10, False, True)])
def test_an_account_that_is_too_small_is_refused(executions: int, refused: bool, warned: bool) -> None:
    assert bool(concurrency.problem({}, executions)) == refused
    assert bool(concurrency.warning(executions)) == warned
    for sentence in filter(None, (concurrency.problem({}, executions), concurrency.warning(executions))):
        assert f"{executions} concurrent executions" in sentence
        assert "--service-code lambda --quota-code L-B99A9384" in sentence


@pytest.mark.parametrize(
    ("executions", "reserved", "remaining"),
    [(1_000, 900, None), (1_000, 901, 99), (1_000, 2_000, 0), (110, 10, None), (10, 2, 8)],
)
def test_reservations_of_the_operator_that_aws_would_refuse_are_refused_before(
    executions: int, reserved: int, remaining: int | None
) -> None:
    own: dict[str, Any] = {
        "deliver": {"reserved_concurrency": reserved},
        "deliver_slow": {"reserved_concurrency": None},
    }
    problem = concurrency.problem({"lambda_functions": own}, executions)
    if remaining is None:
        assert problem == ""
    else:
        assert f"reserved_concurrency of deliver would leave {remaining} of the account's {executions} " in problem


@pytest.mark.parametrize(("executions", "warned"), [(99, True), (100, False), (10_000, False)])
def test_a_small_account_is_warned(executions: int, warned: bool) -> None:
    assert bool(concurrency.warning(executions)) == warned


# ---- throttled messages -----------------------------------------------------------------------------

# Hanging receivers block invocations until the function times out. The other queues also contain work.
LOADS = {
    "deliver": throttling.Load(2_000, 60),
    "deliver_slow": throttling.Load(2_000, 60),
    "maintain": throttling.Load(900, 15),
    "erase": throttling.Load(200, 30),
    "count_hours": throttling.Load(500, 10),
    "notify_people": throttling.Load(500, 10),
}
HANGING = {name: load for name, load in LOADS.items() if name in FUNCTIONS}


def throttled(executions: int, size: int, seed: int = 1) -> throttling.Outcome:
    """Simulate the load `HANGING` in an account whose queues are scaled for an account of size `size`.

    The API uses as many executions as its throttle admits, and the streams use one execution.
    """
    queues = template.declared("AWS::SQS::Queue")
    (queue,) = [one for one in queues if one["QueueName"]["Fn::Sub"] == "${Name}-deliveries"]
    scaled = concurrency.mapping_settings({}, size)
    return throttling.simulate(
        executions - executions // 2 - 1,
        HANGING,
        {name: scaled[name]["ScalingConfig"]["MaximumConcurrency"] for name in HANGING},
        visibility_seconds=queue["VisibilityTimeout"],
        max_receives=queue["RedrivePolicy"]["maxReceiveCount"],
        seed=seed,
    )


@one_of_each(lambda executions: executions)
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("executions", [10, 25, 100])
def test_throttling_alone_brings_no_message_to_the_dead_letter_queue(executions: int, seed: int) -> None:
    outcome = throttled(executions, executions, seed)
    assert (outcome.handled, outcome.dead) == (sum(load.messages for load in HANGING.values()), 0)


def test_queues_of_full_size_lose_messages_to_throttling_in_a_small_account() -> None:
    assert throttled(10, 1_000).dead > 100
