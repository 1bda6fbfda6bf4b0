"""The types of what the documentation's own routes answer."""

from typing import Annotated, Any

from pydantic import Field

Document = dict[str, Any]
Page = Annotated[str, Field(json_schema_extra={"contentMediaType": "text/html"})]
Asset = Annotated[str, Field(json_schema_extra={"contentMediaType": "text/*"})]
