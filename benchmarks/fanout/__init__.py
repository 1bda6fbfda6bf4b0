"""Fan-out: what sends in a process of its own, on a core of its own, and what it is measured with."""
