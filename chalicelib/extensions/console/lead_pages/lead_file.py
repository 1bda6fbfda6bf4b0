"""The file of leads, as the pages offer it: the columns of the API's file, and the status."""

import json
from collections.abc import Iterable

from chalice.app import Response

from chalicelib.extensions.console.lead_pages import lead_status
from chalicelib.extensions.console.presentation import pages
from chalicelib.http import files
from chalicelib.leads import export
from chalicelib.storage import Document


def download(leads: Iterable[Document]) -> Response:
    """Return these leads as a file."""
    heading = files.heading(files.CSV, (*export.COLUMNS, "status"))
    return pages.download("leads.csv", files.MEDIA[files.CSV], heading + "".join(map(_line, leads)))


def _line(lead: Document) -> str:
    line = export.text([json.dumps(lead)], files.CSV)
    cells = line.rstrip("\r\n")
    return f"{cells},{lead_status.status_of(lead)}{line[len(cells) :]}"
