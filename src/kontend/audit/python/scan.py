def scan(*a): return []
