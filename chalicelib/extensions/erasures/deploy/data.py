"""The erasures' data in tables of core: erasures with their receipts, conversations of the person, and slots."""

ROWS = {"workspaces": ("item", "eras")}  # `erasure#`, `erased#` and `erasing#`, as in `store`
