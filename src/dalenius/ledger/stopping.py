"""What is left of a release that was stopped halfway: its lease is given up, and the exception states the charge."""

from dalenius.ledger import Charge, Ledger, Reservation


def stopped(stop: BaseException, ledger: Ledger, charge: Charge, lease: str) -> BaseException:
    """Return the exception with a note on the charge, and without its frames, which hold an unreleased result."""
    stop.add_note(_give_up(ledger, charge, lease))
    stop.__cause__ = stop.__context__ = None
    return stop.with_traceback(None)


def _give_up(ledger: Ledger, charge: Charge, lease: str) -> str:
    """Give up the lease if it was taken, and return what happened, as the ledger has it."""
    reservation = Reservation(entry="", lease=lease, key=charge.key, analyst=charge.analyst)
    free = "Repeating the request costs nothing more."
    try:
        if ledger.abandon(reservation):
            cost = f"rho {float(charge.cost.rho):.6g}, delta {float(charge.cost.delta):.3g}"
            return f"The charge stands ({cost}); no release was stored yet. {free}"
        if ledger.reader.is_stored(charge.key):
            return f"The release is stored in the ledger. {free}"
    except Exception:
        return "`dalenius ledger show` lists whether the release was charged. If it was, repeating the request is free."
    return "Nothing was charged."
