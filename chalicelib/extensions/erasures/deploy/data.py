"""The data of the erasures in tables of core: erasures with their receipts, conversations of the person, and slots."""

from chalicelib.extensions.erasures.store import ErasureRow, MatchRow, SlotRow
from infra.operator.records import row_prefixes

ROWS = row_prefixes(ErasureRow, MatchRow, SlotRow)
