"""Run with `make` of the same name."""
