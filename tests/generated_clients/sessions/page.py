"""Runs the code in docs/sessions.md."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

_PAGE = Path(__file__).parents[3] / "docs" / "sessions.md"


async def run_page(section: str, **values: Any) -> dict[str, Any]:
    """Run the section's code, in which `await` is permitted, with these variables. Return all variables."""
    (text,) = re.findall(
        rf"^## {section}$(.*?)(?=^## |\Z)", _PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        code = compile(block, str(_PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        result = eval(code, values)
        if inspect.iscoroutine(result):
            await result
    return values
