"""The knowledge of built-in admission plugins about kinds: quotas, limits and pods."""
