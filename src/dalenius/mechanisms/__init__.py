"""Additive integer laws, one file each."""
