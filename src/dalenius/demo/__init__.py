"""The embedded demo population."""
