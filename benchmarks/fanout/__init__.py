"""The fan-out question: senders in their own process on their own core, and their measurements."""
