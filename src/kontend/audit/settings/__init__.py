"""Settings: configuration files, policies and baselines."""
