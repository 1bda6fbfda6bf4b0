"""No cell in a file with leads, conversations or analytics is a spreadsheet formula."""

from chalicelib import clock, extensions
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.extensions.console.browser import Browser
from tests.http.test_csv_files import AGENT, HOSTILE, check_files
from tests.http.test_csv_files import hostile as hostile


def test_no_file_of_the_console_has_a_formula(workspace: NewWorkspace, hostile: Api) -> None:
    browser = Browser(workspace.workspace_id)
    browser.start_session(key=workspace.workspace_key)
    check_files(leads=browser.open("/leads.csv"))
    if extensions.has("transcripts"):
        check_files(conversations=browser.open("/convos.csv?tab=all"))
    if extensions.has("reports"):
        from tests.extensions.console.stored_counts import count

        day = clock.iso(clock.seconds())[:10]
        count(workspace.workspace_id, AGENT, day, 0, HOSTILE, loads=1, conversations=1)
        table = {**hostile._headers, "Accept": "text/csv"}
        check_files(
            page=browser.open("/analytics.csv?by=browser"),
            analytics=hostile.call("GET", f"/v3/agents/{AGENT}/analytics?by=browser", None, table),
            usage=hostile.call("GET", "/v3/usage", None, table),
        )
