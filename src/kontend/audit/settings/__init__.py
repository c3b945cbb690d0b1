"""Settings: configuration files, policies, baselines and suppression comments."""
