"""Verbs that `dalenius` finds by their entry points."""
