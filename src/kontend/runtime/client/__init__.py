"""The client of a reconcile (`Api`), its calls, and the backends that answer them."""
