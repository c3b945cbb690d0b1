"""Durability: records, snapshots, the database, and group commit."""
