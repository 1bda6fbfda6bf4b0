"""Exports as pages of text: NDJSON, or CSV for spreadsheets. The concatenated pages form one file."""

import csv
import io
import re
from collections.abc import Collection, Iterable
from urllib.parse import urlencode

from chalice.app import Response

from chalicelib import errors
from chalicelib.http import current_request, operation

JSON, NDJSON, CSV = "json", "ndjson", "csv"
MEDIA = {NDJSON: "application/x-ndjson", CSV: "text/csv; charset=utf-8"}
# Maximum characters in a spreadsheet cell.
_MAX_CELL = 32_000
# Characters after which a cell may begin: the cell and line separators of any reader, and quotation marks.
_BOUNDARY = r',;\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029"'
# Characters that a reader may ignore at the beginning of a cell: spaces, control characters and invisible characters.
_IGNORED = (
    r"[ \x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\xa0\xad\u1680\u180e\u2000-\u200f\u202a-\u202f\u205f-\u206f\u3000\ufeff]*"
)
# Matches a formula at the beginning of a cell, and a text end at which the closing quotation mark would begin a cell.
_FORMULA = rf"(?:^|[{_BOUNDARY}]){_IGNORED}(?=[=+\-@\t\r\uff1d\uff0b\uff0d\uff20])"
_OPEN_END = rf"[;\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]{_IGNORED}\Z"
_UNSAFE = re.compile(f"{_FORMULA}|{_OPEN_END}")


def format_from_request(forms: Collection[str], default: str | None = None) -> str:
    """Return the query parameter `format`, which must be one of `forms`. Raise Invalid, also without a default."""
    form = current_request.query_value("format") or default
    if form is None or form not in forms:
        raise errors.Invalid.member("format", f"must be {' or '.join(forms)}")
    return form


def response(form: str, text: str, next_cursor: str | None) -> Response:
    """Return one page of a file. The `Link` header contains the next page's URL, unless `next_cursor` is None."""
    return Response(text, {"Content-Type": MEDIA[form], **_link(next_cursor)})


def warning(warnings: Iterable[errors.MemberIssue]) -> dict[str, str]:
    """Return a `Warning` header for the `warnings` in the JSON form, or no header if there are none."""
    texts = [f'299 - "{one["path"]}: {one["message"]}"' for one in warnings]
    return {"Warning": ", ".join(texts)} if texts else {}


def heading(form: str, columns: Iterable[str]) -> str:
    """Return the line before a file's first record: the column names for CSV, otherwise an empty string."""
    return csv_line(columns) if form == CSV else ""


def csv_line(cells: Iterable[object]) -> str:
    """Return a CSV line in which no cell begins like a spreadsheet formula, whatever separator the reader uses."""
    line = io.StringIO()
    csv.writer(line).writerow(["" if value is None else _cell(str(value)) for value in cells])
    return line.getvalue()


def _cell(text: str) -> str:
    """Return at most 32,000 characters of a text, with an apostrophe before each possible formula.

    The separator that a spreadsheet expects depends on the country, and quotation marks do not protect against another
    separator. For example, a reader that expects `;` finds a cell that begins with `=` in the line `Ann,"x;=1+1"`.
    """
    safe = _UNSAFE.sub(r"\g<0>'", text[: _MAX_CELL + 1])
    return safe if len(safe) <= _MAX_CELL else f"{safe[:_MAX_CELL]}…"


def _link(next_cursor: str | None) -> dict[str, str]:
    if next_cursor is None:
        return {}
    names = [name for name in operation.current().query if name != "cursor"]
    query = {name: values for name in names if any(values := current_request.query_values(name))}
    return {"Link": f'<?{urlencode({**query, "cursor": next_cursor}, doseq=True)}>; rel="next"'}
