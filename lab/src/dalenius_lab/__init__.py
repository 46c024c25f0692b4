"""Attackers, attacks on servers in use, and reproductions of the papers."""
