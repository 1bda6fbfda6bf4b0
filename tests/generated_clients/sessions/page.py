"""Runs the code in docs/sessions.md and docs/openai.md."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

_DOCS = Path(__file__).parents[3] / "docs"
_PAGES = "\n".join((_DOCS / name).read_text(encoding="utf-8") for name in ("sessions.md", "openai.md"))


async def run_page(section: str, **values: Any) -> dict[str, Any]:
    """Run the section's code, in which `await` is permitted, with these variables. Return all variables."""
    (text,) = re.findall(rf"^## {section}$(.*?)(?=^##? |\Z)", _PAGES, re.MULTILINE | re.DOTALL)
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        code = compile(block, section, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        result = eval(code, values)
        if inspect.iscoroutine(result):
            await result
    return values
