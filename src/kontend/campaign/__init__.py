"""Campaigns: many explorations, walks, plans and live commands, run side by side and resumed where they stopped."""
