"""Verified fixes: changes of code, each explored again with the same scenario and bounds before it is proposed."""
