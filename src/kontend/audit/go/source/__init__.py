"""Go source as the classification needs it: syntax, packages, scopes and types."""
