"""Go's own formats: base64, regular expressions, times, URLs, with Go's error texts."""
