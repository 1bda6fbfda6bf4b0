"""The history: who changed which record, when and which members; and the versions of agents and tools."""
