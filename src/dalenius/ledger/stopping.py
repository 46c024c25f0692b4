"""What is left of a release that was stopped halfway: the lease is let go of, and the exception says what
was charged.
"""

from dalenius.ledger import Charge, Ledger, Reservation


def stopped(stop: BaseException, ledger: Ledger, charge: Charge, lease: str) -> BaseException:
    """The same exception with a note for whoever catches it, and without the frames, which hold an answer nobody may
    read.
    """
    stop.add_note(_let_go(ledger, charge, lease))
    stop.__cause__ = stop.__context__ = None
    return stop.with_traceback(None)


def _let_go(ledger: Ledger, charge: Charge, lease: str) -> str:
    """Let go of the lease if it was taken. Where the stop came while the ledger was written, the ledger knows."""
    reservation = Reservation(entry="", lease=lease, head="", key=charge.key, analyst=charge.analyst)
    free = "Asking again for the same costs nothing more."
    try:
        if ledger.abandon(reservation):
            cost = f"rho {float(charge.cost.rho):.6g}, delta {float(charge.cost.delta):.3g}"
            return f"The charge stands ({cost}); no release was stored yet. {free}"
        if ledger.is_stored(charge.key):
            return f"The release is stored in the ledger. {free}"
    except Exception:
        return (
            "`dalenius ledger show` says whether the release was charged. If it was, asking again for the same is free."
        )
    return "Nothing was charged."
