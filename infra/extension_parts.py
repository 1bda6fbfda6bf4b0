"""The parts that extensions add to a deployment: the folder `deploy` of each extension in `chalicelib/extensions`.

These folders are not part of the package. Each file in them is optional.

`functions.py` declares functions, permissions and alarms:
- `FUNCTIONS`: a tuple of `infra.deploy.function.Function`. `follow(table, …)` makes one that reads the stream of a
  table. If core or another extension declares a function with the same name, the two are merged.
- `GRANTS`: further permissions of other functions: `{"api_handler": {"history": "PutItem Query"}}`.
- `SENDS`: further queues that other functions send to: `{"follow_conversations": ("notifications",)}`.
- `LATE_ALARM`: the name and the first sentence of an alarm that rings when a stream reader in `FUNCTIONS` is late:
  `("HistoryLate", "Changes take more than five minutes to appear in the history.")`.
- `DEAD_LETTER_ALARMS`: the description of an alarm for each dead-letter queue in `template.yaml`. The name is that of
  the resource without `Queue`: `{"DeadErasures": "An erasure has failed."}`.

`data.py` declares `ROWS`: the rows of the extension in tables of core. Each entry is a table, an attribute and its
prefix, such as `("workspaces", "item", "erasure#")`. `infra.operator.records.row_prefixes` derives entries from row
classes. All rows of the extension's own tables are its data.

`requirements.txt` lists the packages that only the extension needs, with their versions. The build adds them
to those of the project's requirements.txt, and `make lock` locks them.

`package.py` declares what the extension adds to the package:
- `SERVICES`: the AWS services and operations that its functions call: `{"ses": Service("email", ("SendRawEmail",))}`,
  with `infra.package.trim.Service`. If core or another extension declares the same service, the operations are merged.
- `prepare(directory)` changes the copy of the extension in the package `directory` and returns the folders whose
  modules ship as bytecode only.

`settings.py` defines `problems(settings, stage_name)`, which yields a sentence for each invalid setting of a stage.

`commands.py` declares `COMMANDS`: click commands that are added to `python -m infra.cams`.

`local.py` adds to a local run: `variables(url)` for its functions, `paths(workspace_id)` of pages that a person opens
first, and `FOLDERS` of the state directory, by what they contain.

`checks.py` declares `CHECKS` of `make verify`: by name, a function that takes an `infra.verify.visit.Visit` and yields
a sentence for each problem. They run after those of core, before the records of the visit are deleted.

`template.yaml` contains the parts of a CloudFormation template that the extension adds to `infra/template.yaml`, such
as `Resources` and `Outputs`. It may add members to a resource of core, such as a stream to a table, but change none.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from chalicelib.extensions import present
from infra import webhook_queues

_ROOT = Path(__file__).resolve().parents[1]
_EXTENSIONS = _ROOT / "chalicelib" / "extensions"
TEMPLATE = _ROOT / "infra" / "template.yaml"
Template = dict[str, Any]


def modules(name: str, extensions: Iterable[str] | None = None) -> list[ModuleType]:
    """Return the modules with this name in the folders `deploy` of these extensions, by default of all present ones."""
    chosen = sorted(present() if extensions is None else extensions)
    return [
        import_module(f"chalicelib.extensions.{extension}.deploy.{name}")
        for extension in chosen
        if (_EXTENSIONS / extension / "deploy" / f"{name}.py").exists()
    ]


def requirements(extensions: Iterable[str] | None = None) -> list[Path]:
    """Return the requirements files of core and of these extensions, by default of all that are present."""
    chosen = sorted(present() if extensions is None else extensions)
    files = [_EXTENSIONS / extension / "deploy" / "requirements.txt" for extension in chosen]
    return [_ROOT / "requirements.txt", *(path for path in files if path.exists())]


def template(extensions: Iterable[str] | None = None) -> Template:
    """Return the template of core with those of these extensions, by default of all that are present.

    Raise ValueError if two of them have different values for a member.
    """
    merged = _merge(_read(TEMPLATE), webhook_queues.template(), "webhook_queues")
    for extension in sorted(present() if extensions is None else extensions):
        path = _EXTENSIONS / extension / "deploy" / "template.yaml"
        if path.exists():
            merged = _merge(merged, _read(path), extension)
    return merged


@cache
def _read(path: Path) -> Template:
    content: Template = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def _merge(base: Template, added: Template, place: str) -> Template:
    merged = {**base, **added}
    for key in base.keys() & added.keys():
        if isinstance(base[key], dict) and isinstance(added[key], dict):
            merged[key] = _merge(base[key], added[key], f"{place}: {key}")
        elif base[key] != added[key]:
            raise ValueError(f"{place}: {key} has a different value in an earlier template.")
    return merged
