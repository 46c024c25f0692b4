"""Addresses of the server, one module for each kind of caller."""
