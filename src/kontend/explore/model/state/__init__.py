"""States of the model: what they consist of, when two are the same, and when two clusters are equal up to names."""
