"""A model of the OpenAI Agents SDK that calls no service."""

from typing import Any

from agents import Model, ModelResponse, Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

CALL = ResponseFunctionToolCall(type="function_call", call_id="1", name="rooms", arguments="{}")


class EchoModel(Model):
    """Answers with the number of items that it has received. It calls a tool first if the user asks for rooms."""

    async def get_response(self, system_instructions: Any, input: Any, *others: Any, **options: Any) -> ModelResponse:
        """Return a tool call or a text."""
        items: list[Any] = [*input]
        text = ResponseOutputText(type="output_text", text=f"{len(items)} items", annotations=[])
        answer = ResponseOutputMessage(
            id="__fake_id__", type="message", role="assistant", status="completed", content=[text]
        )
        asks = items[-1].get("content") == "Rooms?"
        return ModelResponse(output=[CALL if asks else answer], usage=Usage(), response_id=None)

    def stream_response(self, *arguments: Any, **options: Any) -> Any:
        """Stream nothing."""
        raise NotImplementedError
