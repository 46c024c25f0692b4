"""Microdata sources, one file each."""
