"""Static cost estimates of CEL expressions."""
