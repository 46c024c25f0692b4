"""What comes after the charge: writing and showing a release that the ledger already holds.

What can be known of the place to write to is checked before anything is spent. Whatever fails afterwards (a full disk,
a closed pipe, a terminal that cannot show a letter) is told as an undelivered release, never as a failed one.
"""

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from dalenius.errors import DaleniusError, DocumentError, Interrupted, ParameterError, StorageError, Undelivered
from dalenius.publish import is_single_file, is_written_name, listed_suffixes

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def output_place(output: Path | None, inputs: list[Path]) -> Path | None:
    """Where a release may be written: a place that takes files, and nothing that the release is made from."""
    if output is None:
        return None
    try:
        is_single = _is_single(output)
        for given in inputs:
            path = output if is_single else output / given.name
            is_written = is_single or is_written_name(given.name)
            if is_written and path.exists() and given.exists() and path.samefile(given):
                raise ParameterError(f"-o would overwrite {str(path)!r}, which this release is made from.")
        _try_to_write(output.parent if is_single else output)
    except OSError as error:
        raise StorageError(
            f"Nothing can be written to {str(output)!r}: {error.strerror}. Nothing was charged."
        ) from None
    return output


def _is_single(output: Path) -> bool:
    refused = ParameterError(
        f"-o takes a directory, or a {listed_suffixes()} file; {str(output)!r} is neither.", received=str(output)
    )
    try:
        is_single = is_single_file(output)
    except DocumentError:
        raise refused from None
    if output.exists() and not is_single and not output.is_dir():
        raise refused
    return is_single


def _try_to_write(folder: Path) -> None:
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    with tempfile.TemporaryFile(dir=place):
        pass


Attempt = Callable[[str, Callable[[], object]], bool]


@contextmanager
def delivery(entry: str) -> Iterator[Attempt]:
    """Steps after a release is stored: each is tried, says whether it succeeded, and failures are told at the end."""
    failures: list[str] = []

    def attempt(what: str, step: Callable[[], object]) -> bool:
        # After an interruption no further step is begun.
        if failures and failures[-1].endswith(": interrupted"):
            return False
        try:
            step()
            return True
        except OSError as error:
            failures.append(f"{what}: {error.strerror or type(error).__name__}")
            if isinstance(error, BrokenPipeError):
                _close_output()
        except DaleniusError as error:
            failures.append(f"{what}: {error.message.rstrip('.')}")
        except KeyboardInterrupt:
            failures.append(f"{what}: interrupted")
        except Exception as error:
            failures.append(f"{what}: a fault of ours ({type(error).__name__}), please report it")
        return False

    yield attempt
    if failures:
        raise Undelivered(
            f"The release is stored in the ledger (entry {entry}). It could not be delivered: "
            f"{'; '.join(failures)}. Ask again for the same: it is answered from the ledger, free.",
            entry=entry,
            failures=failures,
        )


def _close_output() -> None:
    """Nobody reads on: what is left in the buffer goes nowhere, so that leaving the process does not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@contextmanager
def interruptible() -> Iterator[None]:
    """Stop a release on Ctrl+C or SIGTERM: the lease is let go of, and what was charged is said.

    The first signal stops the work; further ones wait until it was put in order, which takes a moment.
    """
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
