"""The HTML page of a report: one file that works from disk and by mail, without a network or a build step."""
