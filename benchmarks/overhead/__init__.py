"""What the question of overhead measures: its cases, the stacks that answer them, and the engine's recorded answers."""
