"""The table of conflict codes in docs/decisions.md."""

import pytest

from app import app
from chalicelib import errors
from chalicelib.http import idempotency
from tests import extensions, generated_docs
from tests.openapi.document import operations


@pytest.mark.skipif(not extensions.are_all_on(), reason="The table has the conflicts of all extensions.")
def test_the_table_of_conflicts_follows_from_the_operations() -> None:
    declared = (app.routes[one.path][one.method].view_function.operation.raises for one in operations())
    conflicts = {
        idempotency.KeyReused,
        *(one for raised in declared for one in raised if issubclass(one, errors.Conflict)),
    }
    rows = [
        (f"`{one.code}`", str(one.__doc__).partition("\n")[0], f"`{one.__module__.replace('.', '/')}.py`")
        for one in sorted(conflicts, key=lambda operation: operation.code)
    ]
    table = generated_docs.table(["`code`", "Cause", "Declared in"], rows)
    generated_docs.check("docs/decisions.md", "conflicts", table)
