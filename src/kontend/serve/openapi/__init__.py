"""OpenAPI documents, versions 2 and 3, as JSON and protobuf."""
