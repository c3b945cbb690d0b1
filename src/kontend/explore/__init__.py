"""The explorer: controllers against every order of their calls and every lag of their caches, within stated bounds."""
