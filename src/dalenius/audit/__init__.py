"""Exact, exhaustive and statistical checks of privacy claims."""
