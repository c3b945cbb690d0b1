"""Module for Python programs that answers when they are asked for their stacks."""
