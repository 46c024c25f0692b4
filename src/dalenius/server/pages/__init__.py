"""The web pages: HTML routes over the same services that the HTTP interface uses."""
