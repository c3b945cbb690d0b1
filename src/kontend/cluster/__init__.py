"""The API server as a pure function: state, request, and every verb."""
