"""The user code under test: reconciles as trees of calls and responses, and the checks that they are deterministic."""
