"""The overhead question: its cases, the stacks, and the engine's recorded answers."""
