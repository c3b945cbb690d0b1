"""Controllers of service accounts and roles."""
