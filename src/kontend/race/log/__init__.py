"""Audit logs: their files, their events in order, and the clients and objects that the events name."""
