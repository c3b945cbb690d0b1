"""Sets of states: what each instance may have done so far is followed apart from the others, to show that all holds."""
