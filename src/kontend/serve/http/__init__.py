"""HTTP/1.1: connections, requests out of bytes, bodies and headers of answers, the pages that may not call."""
