"""Programs that store sessions of agent frameworks. `test_sessions` runs them in the frameworks' environment."""
