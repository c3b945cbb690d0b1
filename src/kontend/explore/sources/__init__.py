"""Sources of scenarios: files and directories, definitions, objects and actions in YAML, and generated objects."""
