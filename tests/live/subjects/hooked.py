"""The controller of plain.py with a webhook server: it labels new Widgets and refuses sizes above 5.

Arguments: the port, the certificate and the key.
"""

from __future__ import annotations

import base64
import http.server
import json
import ssl
import sys
import threading
from typing import Any

from plain import main  # type: ignore[import-not-found,unused-ignore]

LABEL = b'[{"op": "add", "path": "/metadata/labels", "value": {"hooked": "yes"}}]'


class Hook(http.server.BaseHTTPRequestHandler):
    """Answers one review."""

    def do_POST(self) -> None:
        """Label what is created."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
        response = {"uid": request["uid"], "allowed": request["object"]["spec"]["size"] <= 5}
        if request["operation"] == "CREATE":
            response |= {"patchType": "JSONPatch", "patch": base64.b64encode(LABEL).decode()}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        body = json.dumps(review).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Write no log."""


if __name__ == "__main__":
    port, certificate, key = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Hook)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    main()
