"""Processes of controllers: start, kill, pause, their output, and when they are idle."""
