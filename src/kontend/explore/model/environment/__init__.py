"""Steps that controllers do not take themselves: faults, timers and the actions of users."""
