"""Single runs: the workload, the user who acts, one process under one plan, and the outcome."""
