"""The erasure rows in core tables: erasures with their receipts, matched conversations, and slots."""

from chalicelib.extensions.erasures.store import ErasureRow, MatchRow, SlotRow
from infra.operator.records import row_prefixes

ROWS = row_prefixes(ErasureRow, MatchRow, SlotRow)
