"""No cell in a CSV file is a spreadsheet formula, whichever separator the reader's country uses."""

import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.extensions import has
from chalicelib.http import files
from tests.api import Answer, Api

ROOT = Path(__file__).parents[2]
SEPARATORS = ",;\t"
FORMULAS = tuple("=+-@\t\r")
# A visitor's text that contains every character sequence that could begin a cell.
HOSTILE = '=1;=2\t=3,=4\n=5\r\n=6 "=7" ;"=8 \t\t=9 ; -10 +11;@12;\r;'
# Agents and conversations may have ids that begin with these characters.
AGENT = "=1,=2,@3"

rows = st.lists(
    st.lists(st.text(st.sampled_from("=+-@\t\r\n;,\"' a1\u2028\x0b\ufeff"), max_size=12), min_size=1, max_size=4),
    min_size=1,
    max_size=4,
)
few = settings(derandomize=True, database=None, deadline=None, max_examples=300)
many = settings(few, max_examples=5_000)


def formulas(text: str) -> list[str]:
    """Return the cells that a spreadsheet may run as formulas, for each separator that spreadsheets use."""
    tables = [
        csv.reader(lines, delimiter=separator, skipinitialspace=skips)
        for separator in SEPARATORS
        for skips in (False, True)
        for lines in (io.StringIO(text, newline=""), text.splitlines(keepends=True))
    ]
    return [cell for table in tables for row in table for cell in row if cell.startswith(FORMULAS)]


def check(table: list[list[str]]) -> None:
    text = "".join(map(files.csv_line, table))
    assert not formulas(text)
    parsed = [*csv.reader(io.StringIO(text, newline=""))]
    assert [[plain(cell) for cell in row] for row in parsed] == [[plain(cell) for cell in row] for row in table]


def plain(cell: str) -> str:
    return cell.replace("'", "")


@given(rows)
@few
def test_no_text_becomes_a_formula(table: list[list[str]]) -> None:
    check(table)


@pytest.mark.long
@given(rows)
@many
def test_no_text_of_many_becomes_a_formula(table: list[list[str]]) -> None:
    check(table)


@pytest.mark.parametrize(
    "cell",
    ["=1", "+1+1", "-1-1", "@x", "\t=1", "\r=1", "\uff1d1", "\uff0b1+1", "+1-555-0100", "-5", "-1.5", "+31 20", "-"],
)
def test_a_cell_that_begins_like_a_formula_is_text(cell: str) -> None:
    (row,) = csv.reader(io.StringIO(files.csv_line([cell, 5, -5, None]), newline=""))
    assert (row[0][0], plain(row[0])) == ("'", cell)
    assert row[1:] == ["5", "'-5", ""]


@pytest.mark.parametrize("cell", ["", "1-1", "a=1", "ann@b.test", "a, b; c", '"quoted"', "two\nlines", "1e-5", "a - b"])
def test_other_cells_stay_as_they_are(cell: str) -> None:
    assert [*csv.reader(io.StringIO(files.csv_line([cell]), newline=""))] == [[cell]]


def test_a_cell_keeps_as_much_as_a_spreadsheet() -> None:
    (row,) = csv.reader(io.StringIO(files.csv_line([",=" * 100_000]), newline=""))
    assert (len(row[0]), row[0][-1]) == (32_001, "…")


@pytest.fixture
def hostile(api: Api) -> Api:
    """Create a conversation and a lead whose texts could begin formulas."""
    api.post(f"/v2/agents/{AGENT}", {"title": HOSTILE})
    texts = ("userName", "userEmail", "userPhone", "state", "chatAssignedTo")
    turns = [{"from": HOSTILE, "messages": [{"item": {"text": HOSTILE}}]}]
    body = {"turns": turns, "metadata": {**dict.fromkeys(texts, HOSTILE), "tags": [HOSTILE, HOSTILE]}}
    assert api.post(f"/agents/{AGENT}/interact/=cmd/state", body).status == 200
    lead = {"agentId": AGENT, "agentName": HOSTILE, "name": HOSTILE, "email": HOSTILE, "phone": HOSTILE}
    assert api.post("/v3/leads", {"lead": lead}).status == 200
    return api


def check_files(**files_by_name: Answer) -> None:
    """Assert that these files contain the visitor's texts and no formulas."""
    for name, answer in files_by_name.items():
        assert answer.headers["content-type"] == "text/csv; charset=utf-8", name
        assert (answer.text.count("=") > 0, formulas(answer.text)) == (True, []), name


def test_no_file_of_the_api_has_a_formula(hostile: Api) -> None:
    paths = {"leads": "/v3/leads/export?format=csv"}
    if has("transcripts"):
        paths["conversations"] = f"/v3/agents/{AGENT}/convos/export?format=csv"
    check_files(**{name: hostile.get(path) for name, path in paths.items()})


def test_all_csv_is_written_in_one_module() -> None:
    sources = [one for folder in ("chalicelib", "infra", "clients") for one in (ROOT / folder).rglob("*.py")]
    found = [one for one in sources if re.search(r"^\s*(import|from) csv\b", one.read_text(encoding="utf-8"), re.M)]
    assert found == [ROOT / "chalicelib" / "http" / "files.py"]
