"""The program in which a custodian's own function runs: a fresh interpreter, and in it a fresh process for every block.

It is started as a script, imports the standard library alone, and is given the function's source. The modules that the source names are
imported before any record is read. Then, for each block: fork; the new process reads its records, closes what it can reach, and calls the
function, which was never run before in a process that knows another block. Whatever happens, the block takes its fixed time, after
which the process is killed; one number comes back, or none. See docs/how-to/run-a-function-of-your-own.md for what this cannot prevent.
"""

import ctypes
import json
import os
import resource
import select
import signal
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

# Namespaces of users, of networks and of memory that processes share; where the system forbids them, what follows still holds.
_NAMESPACES = 0x10000000 | 0x40000000 | 0x08000000
_MEMORY = 4 << 30
# What Python may do inside a function; anything else that it announces is refused.
_AUDITED = (
    *("compile", "exec", "import", "marshal.loads", "code.__new__", "function.__new__", "array.__new__"),
    *("object.__getattr__", "object.__setattr__", "object.__delattr__", "builtins.id", "time.sleep"),
    *("sys._getframe", "sys._current_frames", "sys.unraisablehook", "sys.excepthook"),
)
# Calls of the system that arithmetic needs, on x86-64: memory, clocks, signals to itself, reading and writing what is open.
_ALLOWED = (
    *(0, 1, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 28, 35, 39, 60, 96, 98, 100, 131, 186, 201, 202),
    *(204, 228, 230, 231, 273, 318, 334),
)
_X86_64, _KILL, _REFUSE, _ALLOW = 0xC000003E, 0x80000000, 0x00050000 | 1, 0x7FFF0000


def main() -> None:
    """Read what to run, then one block after another."""
    told = json.loads(_read(struct.unpack("<q", _read(8))[0]))
    libc = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "linux":
        libc.unshare(_NAMESPACES)
    for name in told["modules"]:
        with suppress(Exception):
            __import__(name)
    os.write(1, b"!")
    for _ in range(told["blocks"]):
        os.write(1, _block(told, libc))


def _read(count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = os.read(0, count - len(parts))
        if not part:
            os._exit(1)
        parts += part
    return bytes(parts)


def _block(told: dict[str, Any], libc: Any) -> bytes:
    """One block in a process of its own: nine bytes, the first of which says whether the others are a number."""
    reading, writing = os.pipe()
    started = time.monotonic()
    child = os.fork()
    if not child:
        os.close(reading)
        _answer(told, libc, writing)
    os.close(writing)
    end = started + told["seconds"]
    answer, is_open = b"", True
    while (left := end - time.monotonic()) > 0:
        if not is_open or not select.select([reading], [], [], left)[0]:
            time.sleep(max(0.0, end - time.monotonic()))
            break
        part = os.read(reading, 64)
        is_open = bool(part) and len(answer) <= 8
        answer += part
    with suppress(OSError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    return b"\x01" + answer if len(answer) == 8 else bytes(9)


def _answer(told: dict[str, Any], libc: Any, writing: int) -> NoReturn:
    """In the new process: records in, everything else shut, one number out."""
    try:
        rows, columns = struct.unpack("<qq", _read(16))
        whole = struct.unpack(f"<{rows * columns}q", _read(8 * rows * columns))
        units = told["units"]
        values: list[Any] = [value * units[place % columns] for place, value in enumerate(whole)]
        if columns > 1:
            values = [tuple(values[place : place + columns]) for place in range(0, len(values), columns)]
        scope: dict[str, Any] = {"__name__": "function"}
        program = compile(told["source"], "<function>", "exec")
        _shut(writing, libc)
        exec(program, scope)
        os.write(writing, struct.pack("<d", _number(scope[told["name"]], values)))
    except BaseException:
        # Why a block has no number is not for anybody to learn.
        pass
    os._exit(0)


def _number(function: Callable[[list[Any]], Any], values: list[Any]) -> float:
    answer = function(values)
    if isinstance(answer, str | bytes | bytearray):
        raise TypeError
    return float(answer)


def _shut(writing: int, libc: Any) -> None:
    """Nothing is open but the way for the answer, nothing can be opened, and no other process can be started."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for place in (0, 1, 2):
        os.dup2(nowhere, place)
    most = max(writing, nowhere) + 1
    for place in range(3, most):
        if place != writing:
            os.close(place)
    os.closerange(most, 4096)
    for limit, amount in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (getattr(resource, "RLIMIT_NPROC", resource.RLIMIT_CORE), 0),
        (getattr(resource, "RLIMIT_AS", resource.RLIMIT_CORE), _MEMORY),
    ):
        with suppress(OSError, ValueError):
            resource.setrlimit(limit, (amount, amount))
    if sys.platform == "linux" and os.uname().machine == "x86_64":
        _filter(libc)
    sys.addaudithook(_refusal())


def _refusal() -> Callable[[str, tuple[Any, ...]], None]:
    """A hook that knows what is allowed by itself: nothing of this module that a function could change decides."""
    allowed = frozenset(_AUDITED)

    def refuse(event: str, _: tuple[Any, ...]) -> None:
        if event not in allowed:
            raise PermissionError(event)

    return refuse


class _Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("first", ctypes.c_void_p)]


def _filter(libc: Any) -> None:
    """The kernel refuses every call that is not allowed; one by another architecture's numbers ends the process."""
    step = struct.Struct("<HBBI").pack
    calls = [step(0x15, len(_ALLOWED) - place, 0, call) for place, call in enumerate(_ALLOWED)]
    program = b"".join(
        [
            step(0x20, 0, 0, 4),
            step(0x15, 1, 0, _X86_64),
            step(0x06, 0, 0, _KILL),
            step(0x20, 0, 0, 0),
            *calls,
            step(0x06, 0, 0, _REFUSE),
            step(0x06, 0, 0, _ALLOW),
        ]
    )
    held = ctypes.create_string_buffer(program, len(program))
    described = _Filter(len(program) // 8, ctypes.cast(held, ctypes.c_void_p).value)
    libc.prctl(38, 1, 0, 0, 0)
    libc.prctl(22, 2, ctypes.byref(described), 0, 0)


if __name__ == "__main__":
    main()
