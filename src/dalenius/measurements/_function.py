"""A custodian's own function of a block: its source, by which it is named, and the processes in which it runs.

What is run is the source text, never the function object: a fresh interpreter knows nothing of the data, the ledger or the other
blocks, and the digest that a ledger keeps is of all that was run. Every block takes the same time, whatever the function does.
"""

import ast
import builtins
import dis
import inspect
import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from math import ceil, nan
from textwrap import dedent
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from dalenius.core.law import IntArray
from dalenius.errors import ParameterError

_STAGES = 4
Stage = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFunction:
    """The text of a function of a list of records, with the imports that it needs."""

    name: str
    source: str
    modules: tuple[str, ...]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "OwnFunction":
        """Refused unless its source says all: a plain `def`, whose other names are modules."""
        if not isinstance(function, FunctionType) or not function.__name__.isidentifier():
            raise ParameterError(
                "A function of your own is a plain def with a name of its own, not a lambda or a method.",
                name="function",
            )
        try:
            text = dedent(inspect.getsource(function))
            tree = ast.parse(text)
        except (OSError, TypeError, SyntaxError):
            raise ParameterError(
                f"The source of {function.__name__!r} cannot be read; write the function into a file.",
                name="function",
            ) from None
        if not isinstance(tree.body[0], ast.FunctionDef) or tree.body[0].decorator_list:
            raise ParameterError("A function of your own has no decorators.", name="function")
        header = _imports(function)
        source = header + text
        return cls(name=function.__name__, source=source, modules=tuple(_named_modules(ast.parse(source))))

    @property
    def digest(self) -> str:
        """The name by which a request asks for it: its own, and the digest of its source."""
        return f"{self.name} sha256:{sha256(self.source.encode()).hexdigest()}"


def _imports(function: FunctionType) -> str:
    """Modules that the function knows from outside, as imports; anything else from outside is refused."""
    free = inspect.getclosurevars(function).nonlocals
    lines = []
    for name in sorted(_globals(function.__code__) | free.keys()):
        thing = free.get(name, function.__globals__.get(name))
        if isinstance(thing, ModuleType):
            lines.append(f"import {thing.__name__} as {name}\n")
        elif name not in (function.__name__, *dir(builtins)) or name in free:
            raise ParameterError(
                f"{function.__name__!r} uses {name!r} from outside; what it needs stands inside of it, but for modules.",
                name="function",
            )
    return "".join(lines)


def _globals(code: CodeType) -> set[str]:
    """Names that a function looks up outside of itself, and those of what is defined inside of it."""
    own = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    inside = (_globals(each) for each in code.co_consts if isinstance(each, CodeType))
    return own.union(*inside)


def _named_modules(tree: ast.AST) -> list[str]:
    names: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= dict.fromkeys([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
    return list(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """Runs one function over blocks, several at once; `stage` hears how far it is, at times that no record decides."""

    function: OwnFunction
    stage: Stage = lambda _: None

    def run(self, parts: Sequence[IntArray], units: Sequence[float], seconds: float) -> list[float]:
        """What the function says of each block; not a number where it failed, was too slow or said something else."""
        lanes = max(1, min(os.cpu_count() or 1, len(parts)))
        places = [range(lane, len(parts), lanes) for lane in range(lanes)]
        answers = [nan] * len(parts)

        def drive(lane: int) -> None:
            told = [parts[place] for place in places[lane]]
            heard = self.stage if lane == 0 else lambda _: None
            for place, answer in zip(places[lane], self._lane(told, units, seconds, heard), strict=True):
                answers[place] = answer

        with ThreadPoolExecutor(lanes) as pool:
            list(pool.map(drive, range(lanes)))
        return answers

    def _lane(
        self, parts: Sequence[IntArray], units: Sequence[float], seconds: float, stage: Stage
    ) -> list[float]:
        """One interpreter and its blocks, one after another."""
        told = {
            "source": self.function.source,
            "name": self.function.name,
            "modules": list(self.function.modules),
            "blocks": len(parts),
            "seconds": seconds,
            "units": list(units),
        }
        answers, every = list[float](), ceil(len(parts) / _STAGES)
        with subprocess.Popen(
            [sys.executable, "-I", _program()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            cwd="/",
            start_new_session=True,
        ) as process:
            try:
                message = json.dumps(told).encode()
                is_alive = (
                    _sent(process, struct.pack("<q", len(message)) + message) and _heard(process, 1) == b"!"
                )
                for number, part in enumerate(parts):
                    started = time.monotonic()
                    answer = _one(process, part) if is_alive else b""
                    is_alive = is_alive and len(answer) == 9
                    answers.append(struct.unpack("<d", answer[1:])[0] if answer[:1] == b"\x01" else nan)
                    if not is_alive:
                        time.sleep(max(0.0, started + seconds - time.monotonic()))
                    if (number + 1) % every == 0:
                        stage(f"running {self.function.name}: {100 * (number + 1) // len(parts)} %")
            finally:
                process.kill()
        return answers


def _program() -> str:
    """The file that the interpreter is given; it is loaded here for its place alone, and only where a function runs."""
    from dalenius.measurements._block_child import main

    return main.__code__.co_filename


def _environment() -> Mapping[str, str]:
    """One thread, so that arithmetic is the same in every process; nothing of what this process knows."""
    single = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", **dict.fromkeys(single, "1")}


def _one(process: subprocess.Popen[bytes], part: IntArray) -> bytes:
    rows = np.ascontiguousarray(part.reshape(len(part), -1) if part.ndim > 1 else part[:, None], dtype="<i8")
    if not _sent(process, struct.pack("<qq", *rows.shape) + rows.tobytes()):
        return b""
    return _heard(process, 9)


def _sent(process: subprocess.Popen[bytes], message: bytes) -> bool:
    assert process.stdin is not None
    try:
        process.stdin.write(message)
        process.stdin.flush()
    except OSError:
        return False
    return True


def _heard(process: subprocess.Popen[bytes], count: int) -> bytes:
    assert process.stdout is not None
    return process.stdout.read(count)
