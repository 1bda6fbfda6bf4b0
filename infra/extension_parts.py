"""The parts that extensions add to a deployment: the folder `deploy` of each extension in `chalicelib/extensions`.

These folders are not part of the package. All files in these folders are optional.

`functions.py` declares functions, permissions and alarms:
- `FUNCTIONS`: a tuple of `infra.deploy.function.Function`. `follow(table, …)` creates a function that reads a table's
  stream. If core or another extension declares a function with the same name, the declarations are merged.
- `GRANTS`: additional permissions for other functions: `{"api_handler": {"history": "PutItem Query"}}`.
- `SENDS`: additional queues that other functions send to: `{"follow_conversations": ("notifications",)}`.
- `LATE_ALARM`: the name and first sentence of an alarm that fires when a stream reader in `FUNCTIONS` is late:
  `("HistoryLate", "Changes take more than five minutes to appear in the history.")`.
- `DEAD_LETTER_ALARMS`: the alarm descriptions for the dead-letter queues in `template.yaml`. An alarm's name is the
  queue's resource name without `Queue`: `{"DeadErasures": "An erasure has failed."}`.

`data.py` declares `ROWS`: the extension's rows in core tables. Each entry is a table, an attribute and a prefix of its
values, such as `("workspaces", "item", "erasure#")`. `infra.operator.records.row_prefixes` derives entries from row
classes. All rows in the extension's own tables belong to the extension.

`requirements.txt` lists the packages that only the extension needs, with their versions. The build adds them to the
packages in the project's requirements.txt, and `make lock` locks them.

`package.py` declares what the extension adds to the package:
- `SERVICES`: the AWS services and operations that the extension's functions call: `{"ses": Service("email",
  ("SendRawEmail",))}`, with `infra.package.trim.Service`. If core or another extension declares the same service, the
  operations are merged.
- `prepare(directory)` changes the extension's copy in the package `directory`, and returns the folders whose modules
  ship only as bytecode.

`settings.py` defines `problems(settings, stage_name)`, which yields an error for each invalid stage setting.

`commands.py` declares `COMMANDS`: click commands that are added to `python -m infra.cams`.

`local.py` extends a local run with `variables(url)` (environment variables for its functions), `paths(workspace_id)`
(start pages to open in a browser), and `FOLDERS` (state directory folders, keyed by their contents).

`checks.py` declares `CHECKS` for `make verify`: functions, keyed by name, that take an `infra.verify.visit.Visit` and
yield a sentence for each problem. They run after core's checks, before the visit's records are deleted.

`template.yaml` contains the CloudFormation template parts that the extension adds to `infra/template.yaml`, such as
`Resources` and `Outputs`. It may add members to a core resource, such as a stream to a table, but must not change
existing members.
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
    """Return the modules with this name in these extensions' `deploy` folders, by default for all extensions."""
    chosen = sorted(present() if extensions is None else extensions)
    return [
        import_module(f"chalicelib.extensions.{extension}.deploy.{name}")
        for extension in chosen
        if (_EXTENSIONS / extension / "deploy" / f"{name}.py").exists()
    ]


def requirements(extensions: Iterable[str] | None = None) -> list[Path]:
    """Return the requirements files of core and these extensions, by default all extensions that are present."""
    chosen = sorted(present() if extensions is None else extensions)
    files = [_EXTENSIONS / extension / "deploy" / "requirements.txt" for extension in chosen]
    return [_ROOT / "requirements.txt", *(path for path in files if path.exists())]


def template(extensions: Iterable[str] | None = None) -> Template:
    """Return core's template merged with these extensions' templates, by default all that are present.

    Raise ValueError if two templates have different values for the same member.
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
