"""What a call costs in a process of its own: processor seconds and megabytes."""

import json
import os
import resource
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dalenius.errors import DaleniusError

_STATUS, _REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Processor time in seconds, memory above that before the call in megabytes, and how the call ended.

    `refusal` is the code of a refusal, "" after an answer, "killed" where the call was stopped, and otherwise the name
    of an exception that nobody expected.
    """

    seconds: float
    megabytes: float
    refusal: str
    message: str = ""


def usage_of(call: Callable[[], object], *, most_seconds: int = 10, most_megabytes: int = 4000) -> Usage:
    """Run a call in a forked process that is stopped at the limits, and return what it took."""
    end, begin = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(end)
        try:
            os.write(begin, json.dumps(_measured(call, most_seconds, most_megabytes)).encode())
        finally:
            os._exit(0)
    os.close(begin)
    with os.fdopen(end, "rb") as stream:
        told = stream.read()
    _, _, total = os.wait4(child, 0)
    if told:
        return Usage(**json.loads(told))
    seconds = total.ru_utime + total.ru_stime
    return Usage(seconds=seconds, megabytes=total.ru_maxrss / 1024, refusal="killed")


def _measured(call: Callable[[], object], most_seconds: int, most_megabytes: int) -> dict[str, object]:
    with suppress(OSError):
        _REFERENCES.write_text("5")
    before, start = _peak(), resource.getrusage(resource.RUSAGE_SELF)
    used = int(start.ru_utime + start.ru_stime)
    resource.setrlimit(resource.RLIMIT_CPU, (used + most_seconds, used + most_seconds))
    held = int(_STATUS.read_text().partition("VmSize:")[2].split()[0]) * 1024
    resource.setrlimit(resource.RLIMIT_AS, (held + (most_megabytes << 20),) * 2)
    refusal = message = ""
    try:
        call()
    except DaleniusError as error:
        refusal, message = error.code, error.message[:300]
    except BaseException as error:
        refusal, message = type(error).__name__, str(error)[:300]
    after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime + after.ru_stime - start.ru_utime - start.ru_stime
    return {"seconds": seconds, "megabytes": _peak() - before, "refusal": refusal, "message": message}


def _peak() -> float:
    """Largest memory of this process so far, in megabytes."""
    return int(_STATUS.read_text().partition("VmHWM:")[2].split()[0]) / 1024
