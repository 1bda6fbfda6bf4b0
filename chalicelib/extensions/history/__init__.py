"""The history extension: an audit log of changes to records, and the versions of agents and tools."""
