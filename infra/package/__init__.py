"""The deployment package: the application with its locked dependencies, trimmed and compiled to bytecode."""
