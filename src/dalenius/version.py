"""The version of the software, as releases carry it."""

VERSION = "0.1.0"
