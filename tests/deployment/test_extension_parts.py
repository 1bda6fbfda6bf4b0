"""Extensions add functions, permissions, alarms and resources to those of core."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from infra import extension_parts
from infra.deploy import monitoring
from infra.deploy.function import DEAD_LETTER_QUEUE, follow
from infra.deploy.functions import declared_functions
from infra.package import trim
from tests.extensions import are_all_on


def declare(monkeypatch: pytest.MonkeyPatch, **members: object) -> None:
    """Return a function that makes an extension declare these members."""
    module = SimpleNamespace(__name__="moons", **{"FUNCTIONS": (), **members})
    monkeypatch.setattr(extension_parts, "modules", lambda *_: [module])


def test_extensions_that_follow_a_stream_share_its_function(monkeypatch: pytest.MonkeyPatch) -> None:
    inserted, deleted = ({"eventName": [name]} for name in ("INSERT", "REMOVE"))
    of_moons = follow("moons", {"tallies": "PutItem Query"}, event_filter=inserted)
    of_tides = follow("moons", {"tallies": "GetItem"}, ("tides",), memory_mb=512, event_filter=deleted)
    declare(monkeypatch, FUNCTIONS=(of_moons, of_tides))
    *_, function = declared_functions()
    assert function.tables == {"tallies": "GetItem PutItem Query"}
    assert function.sends_to == (DEAD_LETTER_QUEUE, "tides")
    assert function.memory_mb == 512
    patterns = [json.loads(one["Pattern"]) for one in function.mapping_settings["FilterCriteria"]["Filters"]]
    assert patterns == [inserted, deleted]
    assert of_tides.merge(follow("moons", {})).mapping_settings["FilterCriteria"]["Filters"] == []  # all records


def test_an_extension_grants_permissions_to_functions_of_core(monkeypatch: pytest.MonkeyPatch) -> None:
    declare(monkeypatch, GRANTS={"deliver": {"webhooks": "Query"}}, SENDS={"deliver": ("moons",)})
    functions = {function.name: function for function in declared_functions()}
    assert functions["deliver"].tables["webhooks"] == "BatchGetItem GetItem PutItem Query"
    assert functions["deliver"].sends_to[-1] == "moons"


def test_every_permission_of_an_extension_is_for_a_function() -> None:
    names = {function.name for function in declared_functions()}
    for module in extension_parts.modules("functions"):
        unknown = {*getattr(module, "GRANTS", {}), *getattr(module, "SENDS", {})} - names
        assert not (unknown and are_all_on()), module.__name__


def test_an_extension_has_alarms_for_its_streams_and_dead_letter_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    late = ("MoonsLate", "Moons are late.")
    declare(monkeypatch, FUNCTIONS=(follow("moons", {}),), LATE_ALARM=late, DEAD_LETTER_ALARMS={"DeadMoons": "Dead."})
    alarms = monitoring.alarms([])
    assert '"FunctionName", "Value": {"Fn::Sub": "${Name}-follow_moons"}' in json.dumps(alarms["MoonsLate"])
    assert '"Fn::GetAtt": ["DeadMoonsQueue", "QueueName"]' in json.dumps(alarms["DeadMoons"])


def test_only_extensions_require_jinja2() -> None:
    texts = [path.read_text() for path in extension_parts.requirements()]
    core, *of_extensions = ({line.partition("==")[0] for line in text.splitlines() if "==" in line} for text in texts)
    assert core == {"cryptography", "offapi", "pydantic", "pynamodb", "tzdata"}
    others = {name for names in of_extensions for name in names}
    assert core.isdisjoint(others)
    assert others == {"jinja2"} or not are_all_on()


def test_the_services_of_an_extension_are_added_to_those_of_core(monkeypatch: pytest.MonkeyPatch) -> None:
    mail, signing = trim.Service("email", ("SendRawEmail",)), trim.Service("kms", ("Sign",))
    core = trim.services([])
    assert core.keys() == {"dynamodb", "kms", "sqs"}
    declare(monkeypatch, SERVICES={"ses": mail, "kms": signing})
    assert trim.services() == {**core, "ses": mail, "kms": trim.Service("kms", ("Decrypt", "Sign"))}


def test_the_template_of_an_extension_adds_members_and_changes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extension_parts, "_EXTENSIONS", tmp_path)
    fragment = tmp_path / "moons" / "deploy" / "template.yaml"
    fragment.parent.mkdir(parents=True)
    fragment.write_text("Resources: {EventsTable: {Properties: {StreamSpecification: {StreamViewType: NEW_IMAGE}}}}")
    core, merged = (extension_parts.template(extensions)["Resources"] for extensions in ([], ["moons"]))
    assert "StreamSpecification" not in core["EventsTable"]["Properties"]
    assert merged["EventsTable"]["Properties"]["StreamSpecification"] == {"StreamViewType": "NEW_IMAGE"}
    assert merged == {**core, "EventsTable": merged["EventsTable"]}
    other = tmp_path / "tides" / "deploy" / "template.yaml"
    other.parent.mkdir(parents=True)
    other.write_text("Resources: {EventsTable: {Type: AWS::S3::Bucket}}")
    with pytest.raises(ValueError, match="tides: Resources: EventsTable: Type has a different value"):
        extension_parts.template(["moons", "tides"])
