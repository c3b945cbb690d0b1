"""Managers: run controllers with queues, leader election, health checks and metrics."""
