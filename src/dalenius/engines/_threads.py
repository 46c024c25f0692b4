"""How many threads an engine may use at once: DALENIUS_THREADS, or as many as the machine has."""

import os

VARIABLE = "DALENIUS_THREADS"


def threads() -> int:
    """At least one; what is no number leaves it to the machine."""
    given = os.environ.get(VARIABLE, "")
    return max(1, int(given)) if given.isascii() and given.isdecimal() else os.cpu_count() or 1
