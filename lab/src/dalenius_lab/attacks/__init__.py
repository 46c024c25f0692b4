"""Attacks that a release must withstand, one file each."""
