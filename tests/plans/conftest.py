"""Plans are asked the same records as methods."""

from tests.methods.conftest import ask

__all__ = ["ask"]
