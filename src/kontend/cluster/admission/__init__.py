"""Admission: changes or refuses a write between its decoding and its storage."""
