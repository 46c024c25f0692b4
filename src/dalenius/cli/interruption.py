"""Ctrl+C and SIGTERM while a release is made: the lease is let go of, and what was charged is said."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from dalenius.errors import Interrupted

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interruptible() -> Iterator[None]:
    """The first signal stops the work; further ones wait until it was put in order, which takes a moment."""
    before = {number: signal.signal(number, _stop) for number in _SIGNALS}
    try:
        yield
    except KeyboardInterrupt as stop:
        told = " ".join(getattr(stop, "__notes__", ())) or "Nothing was charged."
        raise Interrupted(f"Stopped. {told}") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    del number, frame
    for further in _SIGNALS:
        signal.signal(further, signal.SIG_IGN)
    raise KeyboardInterrupt
