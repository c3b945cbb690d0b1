"""One request on its way through the server: its exchange, its answer, on the event loop or beside it."""
