"""Exact functions of microdata, with their sensitivity."""
