"""Adapters that store the sessions of agent frameworks as conversations. Each module requires the extra of its name."""
