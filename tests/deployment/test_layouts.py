"""The stored layout that deployed functions write, and the versions that a deployment rejects."""

from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra.deploy import checks, layouts
from infra.deploy.functions import declared_functions


@pytest.fixture(autouse=True)
def version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a version that reads the layouts 3 and 4."""
    monkeypatch.setattr(layouts, "READABLE", {3: "1.1.0", 4: "1.2.0"})
    monkeypatch.setattr(layouts, "CURRENT", 4)
    monkeypatch.setattr(layouts, "__version__", "1.2.0")


class Account:
    """A fake account that contains a stage: the stack's recorded values, and the layouts that each function reads."""

    def __init__(self, written: str = "", since: str = "", *readable: str | None) -> None:
        names = [one.deployed_name("cams-prod") for one in declared_functions()]
        self._readable = dict(zip(names, readable, strict=False))
        values = {"StoredLayout": written, "StoredLayoutVersion": since}
        parameters = [{"ParameterKey": key, "ParameterValue": value} for key, value in values.items()]
        self._stack = {"StackStatus": "UPDATE_COMPLETE", "Parameters": parameters}

    def client(self, service: str) -> Any:
        if service == "cloudformation":
            return SimpleNamespace(describe_stacks=lambda **_: {"Stacks": [self._stack]})
        return SimpleNamespace(get_function_configuration=self._configuration)

    def _configuration(self, **request: str) -> dict[str, Any]:
        if request["FunctionName"] not in self._readable:
            raise ClientError({"Error": {"Code": "ResourceNotFoundException"}}, "GetFunctionConfiguration")
        readable = self._readable[request["FunctionName"]]
        variables = {} if readable is None else {layouts.READABLE_VARIABLE: readable}
        return {"Environment": {"Variables": variables}}


def choose(account: Account) -> int:
    return layouts.choose(account.client, "cams-prod", "prod")


def refusal(account: Account) -> str:
    with pytest.raises(checks.NotReady) as refused:
        choose(account)
    return refused.value.message


def test_a_new_stage_writes_the_current_layout_at_once() -> None:
    assert choose(Account()) == 4
    assert layouts.next_step(4, "prod") == ""


def test_an_update_first_writes_what_the_deployed_functions_read_and_the_next_one_switches() -> None:
    assert choose(Account("3", "1.1.0", "2,3", "2,3")) == 3
    assert "run `chalice deploy --stage prod` again to write layout 4" in layouts.next_step(3, "prod")
    assert choose(Account("3", "1.1.0", "3,4", "3,4")) == 4


def test_one_function_that_an_interrupted_deployment_left_behind_delays_the_switch() -> None:
    assert choose(Account("3", "1.1.0", "3,4", "2,3", "3,4")) == 3


def test_an_earlier_version_may_replace_a_later_one_that_has_not_switched() -> None:
    assert choose(Account("4", "1.2.0", "3,4,5")) == 4


def test_a_layout_that_the_tables_have_is_never_taken_back() -> None:
    """Check functions with old variables, for example after a plain `chalice deploy`."""
    assert choose(Account("4", "1.2.0", "2,3")) == 4
    assert choose(Account("4", "1.2.0", "2")) == 4


def test_a_version_that_is_too_old_for_the_records_is_refused() -> None:
    for account in (Account("5", "1.3.0", "4,5"), Account("5", "1.3.0")):  # with functions, or with only tables
        assert refusal(account) == (
            "Stage prod has records in layout 5, but version 1.2.0 reads only 3 and 4: deploy version 1.3.0 or a "
            "later one instead."
        )


def test_a_version_that_skips_one_is_refused() -> None:
    sentence = "Stage prod has records in layout 2, but version 1.2.0 reads only 3 and 4: deploy version 1.1.0 first."
    assert refusal(Account("2", "1.0.0", "1,2")) == sentence
    assert refusal(Account("", "", None)) == sentence  # the functions' version did not record layouts


def test_the_record_is_what_the_next_deployment_reads() -> None:
    assert layouts.parameters(3) == {"StoredLayout": "3", "StoredLayoutVersion": "1.1.0"}
    assert layouts.variables(3) == {"CAMS_STORED_LAYOUT": "3", "CAMS_READABLE_LAYOUTS": "3,4"}
