"""Parts of a scenario that have nothing to do with each other: found, explored one by one, and put together."""
