"""Webhook configurations and admission policies."""
