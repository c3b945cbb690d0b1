"""Validation of workload controllers, jobs, autoscalers and disruption budgets."""
