"""Properties, built-in and user-defined: their names, how they are judged, and how a violation is worded."""
