"""The TypeScript client as a customer gets it: programs compile against the package and use it against a local run."""

import json
import re
import shutil
import subprocess
import tarfile
import uuid
from pathlib import Path
from typing import NamedTuple

import pytest

from chalicelib import __version__
from infra.client import typescript
from infra.local.children import ROOT
from tests.generated_clients.servers import Proxy, Receiver, serving
from tests.generated_clients.test_generators import install_packages, new_key, ran
from tests.reliability.runs import Run, ask
from tests.selection import whole

pytestmark = [pytest.mark.engine, whole]

HERE = Path(__file__).parent
SESSIONS = HERE / "sessions"
PAGE = (ROOT / "docs" / "typescript-client.md").read_text(encoding="utf-8")
(SCRIPT,) = re.findall(r"```ts\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the package that `make client-typescript` builds; skip the test if Node.js is missing."""
    if shutil.which("npm") is None:
        pytest.skip("NOT TESTED: the TypeScript client needs Node.js 20 or newer.")
    return typescript.build(tmp_path_factory.mktemp("typescript"))


MISTAKES = [
    ('title: "Support"', "title: 5"),
    ('"/v3/agents"', '"/v3/agent"'),
    ("{ agent: {", "{ agents: {"),
    ("agent_id:", "agentId:"),
    ("messages.add", "messages.ad"),
    ("error.code", "error.kode"),
    ('from: "assistant"', 'author: "assistant"'),
]


class Programs(NamedTuple):
    """A folder with compiled programs, and the names of the programs with errors."""

    folder: Path
    mistaken: set[str]


@pytest.fixture(scope="module")
def all_programs(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """Compile the correct programs and the mistakes in one run, because each run would read the whole package again."""
    folder = tmp_path_factory.mktemp("programs")
    unpack(package, HERE, folder)
    (folder / "page.ts").write_text(SCRIPT, encoding="utf-8")
    for number, (correct, wrong) in enumerate(MISTAKES):
        assert correct in SCRIPT
        (folder / f"mistake_{number}.ts").write_text(SCRIPT.replace(correct, wrong), encoding="utf-8")
    lines = re.findall(r"^(?! )(?!$).*", tsc(package, folder), re.MULTILINE)
    return Programs(folder, {line.partition("(")[0] for line in lines})


@pytest.fixture(scope="module")
def programs(all_programs: Programs) -> Path:
    """Return a folder with compiled programs that use the unpacked package. The strictest compiler finds no error."""
    assert {name for name in all_programs.mistaken if not name.startswith("mistake_")} == set()
    return all_programs.folder


@pytest.fixture(scope="module")
def session_programs(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the compiled programs that use agent frameworks, and with the code of the page."""
    # The optional packages are large, and only servers of the Model Context Protocol need them.
    install_packages(SESSIONS, "--omit=optional")
    folder = tmp_path_factory.mktemp("sessions")
    unpack(package, SESSIONS, folder)
    for module in (SESSIONS / "node_modules").iterdir():
        (folder / "node_modules" / module.name).symlink_to(module)
    page = (ROOT / "docs" / "sessions.md").read_text(encoding="utf-8")
    ai, agents = re.findall(r"```ts\n(.*?)```", page, re.DOTALL)
    (folder / "ai_page.ts").write_text(ai, encoding="utf-8")
    # Everything in the page's package comes from the smaller package, which contains no provider of models.
    (folder / "openai_agents_page.ts").write_text(
        agents.replace("openai/agents", "openai/agents-core"), encoding="utf-8"
    )
    assert tsc(package, folder) == ""
    return folder


def unpack(package: Path, source: Path, folder: Path) -> None:
    """Copy the programs in `source` into a folder in which the package is installed."""
    modules = folder / "node_modules"
    with tarfile.open(package) as archive:
        archive.extractall(modules)
    (modules / "package").rename(modules / "cams-client")
    for name in ("openapi-fetch", "openapi-typescript-helpers"):
        (modules / name).symlink_to(package.parent / "node_modules" / name)
    for file in (source / "tsconfig.json", *source.glob("*.ts")):
        shutil.copy(file, folder)
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")


def tsc(package: Path, folder: Path) -> str:
    """Compile a folder; return the errors."""
    command = [package.parent / "node_modules/.bin/tsc", "--pretty", "false"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout


def settings(run: Run) -> dict[str, str]:
    """Return the client's environment variables, with the key of a new workspace."""
    return {"CAMS_URL": f"http://127.0.0.1:{run.port}", "CAMS_API_KEY": new_key(run)}


def test_the_package_contains_compiled_modules_and_needs_one_package(package: Path) -> None:
    with tarfile.open(package) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}
        contents = json.load(archive.extractfile("package/package.json"))
    source = typescript.SOURCE / "src"
    by_hand = {file.relative_to(source).with_suffix("").as_posix() for file in source.rglob("*.ts")}
    modules = by_hand | {"schema", "operations"}
    assert names - {"package.json", "README.md", "LICENSE"} == {
        f"dist/{name}{suffix}" for name in modules for suffix in (".js", ".d.ts")
    }
    assert package.name == f"cams-client-{__version__}.tgz"
    assert list(contents["dependencies"]) == ["openapi-fetch"]
    assert package.stat().st_size < 60_000


def test_the_modules_by_hand_have_at_most_200_lines() -> None:
    """Blank lines and comments do not count. The adapters for agent frameworks have their own limit."""
    lines = [line.strip() for file in (typescript.SOURCE / "src").glob("*.ts") for line in file.open(encoding="utf-8")]
    assert len([line for line in lines if line and not line.startswith(("//", "/*", "*"))]) <= 200


def test_an_adapter_has_at_most_120_lines() -> None:
    lines = {file.name: len(file.read_text().splitlines()) for file in (typescript.SOURCE / "src/sessions").iterdir()}
    assert lines.keys() == {"transcript.ts", "ai.ts", "openai-agents.ts"}
    assert max(lines.values()) <= 120, lines


@pytest.mark.parametrize("folder", [typescript.SOURCE, SESSIONS], ids=lambda folder: folder.name)
def test_versions_are_exact_and_the_lock_has_no_address_of_a_registry(folder: Path) -> None:
    contents = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    versions = [*contents.get("dependencies", {}).values(), *contents["devDependencies"].values()]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions)
    assert "resolved" not in (folder / "package-lock.json").read_text(encoding="utf-8")


def test_the_clients_rules(programs: Path) -> None:
    assert ran("node", "built/client_rules.js", cwd=programs, CAMS_URL="", CAMS_API_KEY="") == "All rules hold.\n"


def test_the_compiler_finds_mistakes(all_programs: Programs) -> None:
    mistakes = {f"mistake_{number}.ts" for number in range(len(MISTAKES))}
    assert {name for name in all_programs.mistaken if name.startswith("mistake_")} == mistakes


def test_the_page_prints_what_its_comments_say(programs: Path, run: Run) -> None:
    printed = ran("node", "built/page.js", cwd=programs, **settings(run)).splitlines()
    expected = re.findall(r"console\.log\(.*\); // (.+)$", SCRIPT, re.MULTILINE)
    # The example of the list shows one of two messages.
    assert [line for line in printed if line in expected] == expected
    assert len(printed) == len(expected) + 1


def test_the_client_takes_the_tour(programs: Path, run: Run) -> None:
    ran("node", "built/tour.js", cwd=programs, **settings(run))


def test_eight_operations_need_no_checks(programs: Path, run: Run) -> None:
    ran("node", "built/eight_operations.js", cwd=programs, **settings(run))


@pytest.mark.parametrize(
    "arguments",
    [("creations",), ("appends", "60"), pytest.param(("appends", "1000"), marks=pytest.mark.long)],
    ids=" ".join,
)
def test_nothing_is_lost_or_doubled_if_every_fifth_response_is_lost(
    arguments: tuple[str, ...],
    programs: Path,
    run: Run,
) -> None:
    proxy = Proxy(f"http://127.0.0.1:{run.port}")
    with serving(proxy):
        ran(
            "node",
            "built/typescript_client.js",
            *arguments,
            cwd=programs,
            CAMS_URL=proxy.address,
            CAMS_API_KEY=new_key(run),
        )
    assert proxy.lost >= 15


@pytest.mark.parametrize("framework", ["ai", "openai_agents"])
@pytest.mark.parametrize("mode", ["rules", "losses"])
def test_a_framework_stores_its_sessions_with_an_agent_key(
    framework: str,
    mode: str,
    session_programs: Path,
    run: Run,
) -> None:
    """In the mode `losses`, every fifth response is lost."""
    key, proxy = uuid.uuid4().hex, Proxy(f"http://127.0.0.1:{run.port}")
    ask(run, "POST", "/v2/agents/support", new_key(run), {"title": "Support", "SECRET_API_KEY": key})
    with serving(proxy):
        address = proxy.address if mode == "losses" else f"http://127.0.0.1:{run.port}"
        # The frameworks' modules for browsers need no optional packages.
        command = ("node", "--conditions=browser", f"built/{framework}.js", mode)
        ran(*command, cwd=session_programs, CAMS_URL=address, CAMS_API_KEY=key)
    assert proxy.lost >= (15 if mode == "losses" else 0)


def test_a_webhook_is_verified(programs: Path, run: Run) -> None:
    key, receiver = new_key(run), Receiver()
    with serving(receiver):
        endpoint = {"url": f"http://127.0.0.1:{receiver.server_port}/", "events": ["agent_created"]}
        created = ask(run, "POST", "/v3/webhooks", key, {"webhook": endpoint})[1]["data"]
        ask(run, "POST", f"/v3/webhooks/{created['id']}/test", key)
        body, headers = receiver.received.get(timeout=30)
    argument = json.dumps({"body": body.decode(), "headers": headers, "secret": created["signingSecret"]})
    variables = {"CAMS_URL": f"http://127.0.0.1:{run.port}", "CAMS_API_KEY": key}
    ran("node", "built/typescript_client.js", "webhooks", argument, cwd=programs, **variables)
