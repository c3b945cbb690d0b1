"""Python source as the classification needs it: modules, names, and values that were read."""
