"""`dalenius` for the shells of pages: one process imports the program once, and every command is a fork of it.

Each command still is a process of its own, with its own folder, environment, standard streams, arguments and exit code; what it is
spared is half a second of imports. Run as a program with the path of a socket, this file is the process that forks.
"""

import atexit
import contextlib
import gc
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

# Packages that verbs import when they need them; servers, reproductions and the tests' own kits are left to who asks for them.
_LEFT = ("dalenius.server", "dalenius_lab.reproductions", "dalenius.testing")
_SHIM = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({place!r})
    order = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(line, [len(order).to_bytes(8, "big")], [0, 1, 2])
    line.sendall(order)
    answer = line.recv(1)
sys.exit(answer[0] if answer else 70)
"""


@contextmanager
def commands(folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """While it runs, the text of a program that does what `dalenius` does."""
    place = str(folder / "commands")
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, __file__, place], env={**environment, **one_thread}, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        yield _SHIM.format(python=sys.executable, place=place)
    finally:
        process.terminate()
        process.wait(timeout=30)
        process.stdout.close()


def _serve(place: str) -> None:
    import dalenius

    for module in pkgutil.walk_packages(dalenius.__path__, "dalenius."):
        if not module.name.startswith(_LEFT):
            import_module(module.name)
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(place)
        door.listen(8)
        print("ready", flush=True)
        while True:
            line, _ = door.accept()
            if os.fork() == 0:
                door.close()
                os._exit(_answer(line))
            line.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _answer(line: socket.socket) -> int:
    """Run the command in a child, which ends as programs end, and tell its exit code."""
    head, streams, _, _ = socket.recv_fds(line, 8, 3)
    order = b""
    while len(order) < int.from_bytes(head, "big"):
        order += line.recv(1 << 16)
    arguments, folder, environment = json.loads(order)
    child = os.fork()
    if child == 0:
        line.close()
        _become(streams, folder, environment)
        os._exit(_run(arguments))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    line.sendall(bytes([code if code >= 0 else 128 - code]))
    return 0


def _run(arguments: list[str]) -> int:
    """The program's own exit code, after what it wants done at its end; the modules of the parent are not taken apart."""
    from dalenius.cli.main import run

    sys.argv = ["dalenius", *arguments]
    code: object = 0
    try:
        run()
    except SystemExit as exit:
        code = exit.code
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return code if isinstance(code, int) else 0 if code is None else 1


def _become(streams: list[int], folder: str, environment: dict[str, str]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", 1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)


if __name__ == "__main__":
    _serve(sys.argv[1])
