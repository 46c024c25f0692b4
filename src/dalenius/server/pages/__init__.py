"""The web pages: HTML routes over the same services that the HTTP interface uses."""

from dalenius.server.pages.mounting import mount

__all__ = ["mount"]
