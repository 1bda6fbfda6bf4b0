"""The mcp extension: a Model Context Protocol server, so that assistants can use the API's operations as tools."""
