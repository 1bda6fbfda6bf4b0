"""The copies extension: clones of agents, and templates that copy an agent to another workspace."""
