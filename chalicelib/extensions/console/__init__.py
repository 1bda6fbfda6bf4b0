"""The console extension: server-rendered pages for an organisation's people and for operators."""
