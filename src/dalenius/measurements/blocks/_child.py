"""The program in which a custodian's own function runs on one block, in a fresh interpreter for it alone.

It is started as a script, imports the standard library alone, and reads from its standard input what everybody may
know: the function's source, the modules that it names, the units. It imports those modules, closes all but one channel,
gives up every call of the system that arithmetic does not need, defines the function, and says that it is ready. Only
then it is handed a memory of its own with the block's records. It answers with one number, or ends without one.
Anything that goes wrong before that is said in words, which no record can have moved. See
docs/how-to/run-a-function-of-your-own.md for what this cannot prevent.

No count of lines or branches sees this file: the interpreter takes no settings from outside, and the filter lets it
write no file.
"""

from __future__ import annotations

import _socket
import ctypes
import marshal
import math
import os
import resource
import struct
import sys
import time

# Every block starts such a process: modules that its work does not need are not imported.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

# What Python may do inside a function; anything else that it announces is refused.
_AUDITED = (
    *("compile", "exec", "import", "marshal.loads", "code.__new__", "function.__new__", "array.__new__"),
    *("object.__getattr__", "object.__setattr__", "object.__delattr__", "builtins.id"),
    *("sys._getframe", "sys._current_frames", "sys.unraisablehook", "sys.excepthook"),
)
# Calls of the system that arithmetic needs, on x86-64: memory, clocks, signals to itself, reading and writing what is
# open, and the one by which records are received. None of them waits: a function that does not end uses up its time.
_ALLOWED = (
    *(0, 1, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 28, 39, 47, 60, 96, 98, 100, 131, 186, 201),
    *(204, 228, 231, 273, 318, 334),
)
# Of the call by which threads wait for each other, waking alone: there is one thread, which would wait for ever.
_FUTEX, _WAKING = 202, (1, 10)
_X86_64, _KILL, _REFUSE, _ALLOW = 0xC000003E, 0x80000000, 0x00050000 | 1, 0x7FFF0000
_KILLED, _PARENT_DEATH, _NO_NEW_RIGHTS, _SECCOMP, _FILTER_MODE = 9, 1, 38, 22, 2
READY, FAILED = b"!", b"?"
_CHANNEL = 3


class Unready(Exception):
    """Why no block can be answered in such a process; nothing of it depends on records."""


def main() -> None:
    """Get ready, say so, then answer for one block."""
    told = marshal.loads(_read(0))
    # In the same place in every process: how many files the parent had open is nothing that a function may notice.
    channel = os.dup2(int(told["channel"]), _CHANNEL)
    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, channel)
    try:
        function = _prepared(told, channel)
    except Unready as reason:
        os.write(channel, FAILED + str(reason).encode()[:400])
        os._exit(1)
    except BaseException:
        os.write(channel, FAILED + b"its source cannot be run there")
        os._exit(1)
    os.write(channel, READY + struct.pack("<d", time.process_time()))
    _answer(function, told["units"], link)


def _read(place: int) -> bytes:
    parts = bytearray()
    while part := os.read(place, 1 << 20):
        parts += part
    return bytes(parts)


def _prepared(told: dict[str, Any], channel: int) -> Callable[[list[Any]], Any]:
    """The function, defined in a process that is shut."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PARENT_DEATH, _KILLED, 0, 0, 0)
    _import(told["modules"], told["names"])
    if len(os.listdir("/proc/self/task")) > 1:
        raise Unready("a module that it imports starts threads")
    program = compile(told["source"], "<function>", "exec")
    _shut(channel, told["seconds"], told["memory"], libc)
    scope: dict[str, Any] = {"__name__": "function"}
    exec(program, scope)
    function: Callable[[list[Any]], Any] = scope[told["name"]]
    return function


def _import(modules: list[str], names: list[str]) -> None:
    """What the source names; of `from … import …` a name may be a module or not."""
    for name in modules:
        try:
            __import__(name)
        except Exception:
            raise Unready(f"the module {name!r} cannot be imported there") from None
    for name in names:
        try:
            __import__(name)
        except Exception:
            continue


def _answer(function: Callable[[list[Any]], Any], units: list[float], link: _socket.socket) -> NoReturn:
    """Records in, one number out."""
    try:
        # The memory that holds the records: handed over once, to this process alone.
        _, ancillary, _, _ = link.recvmsg(1, _socket.CMSG_SPACE(4))
        (memory,) = struct.unpack("i", ancillary[0][2])
        content = _read(memory)
        os.close(memory)
        columns = len(units)
        whole = struct.unpack(f"<{len(content) // 8}q", content)
        values: list[Any] = [value * units[place % columns] for place, value in enumerate(whole)]
        if columns > 1:
            values = [tuple(values[place : place + columns]) for place in range(0, len(values), columns)]
        os.write(link.fileno(), struct.pack("<d", _number(function, values)))
    except BaseException:
        # Why a block has no number is not for anybody to learn.
        pass
    os._exit(0)


def _number(function: Callable[[list[Any]], Any], values: list[Any]) -> float:
    answer = function(values)
    if isinstance(answer, str | bytes | bytearray):
        raise TypeError
    return float(answer)


def _shut(channel: int, seconds: float, memory: int, libc: Any) -> None:
    """Only the channel is open, nothing more can be opened or started, and time and memory end."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for place in (0, 1, 2):
        os.dup2(nowhere, place)
    os.closerange(3, channel)
    os.closerange(channel + 1, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[0]))
    # The exact limit is kept by who started this process; this one holds where nobody is left to keep it.
    most = math.ceil(time.process_time() + seconds) + 1
    for limit, amount in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, most),
    ):
        try:
            resource.setrlimit(limit, (amount, amount))
        except (OSError, ValueError):
            raise Unready("the system refuses a limit of its memory or processor time") from None
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
    many = len(_ALLOWED)
    calls = [step(0x15, many - place, 0, call) for place, call in enumerate(_ALLOWED)]
    waking = [step(0x15, len(_WAKING) - place, 0, kind) for place, kind in enumerate(_WAKING)]
    ends = [step(0x06, 0, 0, _REFUSE), step(0x06, 0, 0, _ALLOW)]
    program = b"".join(
        [
            step(0x20, 0, 0, 4),
            step(0x15, 1, 0, _X86_64),
            step(0x06, 0, 0, _KILL),
            step(0x20, 0, 0, 0),
            step(0x15, many + len(ends), 0, _FUTEX),
            *calls,
            *ends,
            # The second argument of the call, without the flags that say whose memory is meant.
            step(0x20, 0, 0, 24),
            step(0x54, 0, 0, 0x7F),
            *waking,
            *ends,
        ]
    )
    held = ctypes.create_string_buffer(program, len(program))
    described = _Filter(len(program) // 8, ctypes.cast(held, ctypes.c_void_p).value)
    if libc.prctl(_NO_NEW_RIGHTS, 1, 0, 0, 0) or libc.prctl(_SECCOMP, _FILTER_MODE, ctypes.byref(described), 0, 0):
        raise Unready("the system refuses the filter of system calls")
    try:
        os.pipe()
    except PermissionError:
        return
    raise Unready("the filter of system calls is not in force")


if __name__ == "__main__":
    main()
