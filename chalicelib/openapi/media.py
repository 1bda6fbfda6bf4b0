"""The response types of the documentation routes."""

from typing import Annotated, Any

from pydantic import Field

Document = dict[str, Any]
Page = Annotated[str, Field(json_schema_extra={"contentMediaType": "text/html"})]
Asset = Annotated[str, Field(json_schema_extra={"contentMediaType": "text/*"})]
