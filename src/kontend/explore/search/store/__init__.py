"""The record of a search in memory and, beyond a limit, on disk: columns of numbers, and the visited set."""
