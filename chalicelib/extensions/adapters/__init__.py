"""Operations for adapters that store an agent framework's sessions as conversations."""
