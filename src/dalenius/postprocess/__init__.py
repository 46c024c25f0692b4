"""Releases to release, without data; one file each."""
