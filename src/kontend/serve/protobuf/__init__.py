"""Protobuf request bodies, decoded into JSON."""
