"""The console: pages for the people of an organisation and for operators, rendered on the server."""
