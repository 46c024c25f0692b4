"""Attackers that are kept: fuzzers that look for a privacy loss above its charge, each with faults that it
must find.
"""
