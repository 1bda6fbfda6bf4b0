"""The tool_calls extension: calls a tool's server as an agent does, to test the tool."""
