"""HTTP/2, which clients choose during the TLS handshake: many requests at once on one connection."""
