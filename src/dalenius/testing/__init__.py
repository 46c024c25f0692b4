"""Kits, strategies and toy data."""
