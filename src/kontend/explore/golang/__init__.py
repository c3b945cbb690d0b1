"""Go reconcilers as programs of the explorer: toolchain, builds, processes, runs."""
