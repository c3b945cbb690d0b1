"""Controllers in Python, safe by default.

A controller is a class with an ``async def reconcile(self, request, api)``. Its ``api`` means exactly what
controller-runtime's client means: reads come from a cache that lags, writes go to the server and the response is
decoded into the object that was passed. The same controller runs in process (a unit test), over HTTP (``kontend
serve`` or a real cluster), and in the explorer, because every read and write is one
:class:`~kontend.runtime.client.call.Call` handed to a backend, and those calls are the only places where a reconcile
can be suspended.
"""
