"""Questions on a terminal: one line each, a default in brackets, and the reason when an answer is not taken.

Answers are kept while a dialogue lasts, so that one that was stopped goes on where it stood. What is kept is what the
person typed, never what was read from rows.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import typer

from dalenius.cli.output import say
from dalenius.errors import DaleniusError, ParameterError

T = TypeVar("T")


class Dialogue:
    """Asks, and keeps what was answered in a file until it is told to forget it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._earlier: list[list[str]] = []
        self._answers: list[list[str]] = []
        if file.is_file():
            self._earlier = json.loads(file.read_text(encoding="utf-8"))
            say((f"Going on after {len(self._earlier)} answers that you gave before; -o names another folder.", "dim"))

    def ask(self, question: str, read: Callable[[str], T], default: str = "", *, about: str = "") -> T:
        """The first answer that `read` takes; a refusal is said, and the question asked again.

        `about` is what was said before the question: an answer from before is taken only where it was the same, of
        which a digest is kept.
        """
        key = question.partition("?")[0] + (hashlib.sha256(about.encode()).hexdigest()[:16] if about else "")
        if self._earlier and self._earlier[0][0] == key:
            answer = self._earlier.pop(0)[1]
            try:
                taken = read(answer)
            except DaleniusError:
                self._earlier = []
            else:
                say((f"{question}: {answer}", "dim"))
                self._keep(key, answer)
                return taken
        # Another question than before: what was answered afterwards may mean something else.
        self._earlier = []
        while True:
            answer = str(typer.prompt(question, default=default, show_default=bool(default))).strip()
            try:
                taken = read(answer)
            except DaleniusError as refusal:
                say("  ", (refusal.message, "yellow"))
                continue
            self._keep(key, answer)
            return taken

    def is_yes(self, question: str, *, default: bool) -> bool:
        words = {"y": True, "yes": True, "n": False, "no": False}

        def read(answer: str) -> bool:
            if answer.lower() not in words:
                raise ParameterError("Answer y or n.")
            return words[answer.lower()]

        return self.ask(question, read, "y" if default else "n")

    def _keep(self, key: str, answer: str) -> None:
        self._answers.append([key, answer])
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.touch(mode=0o600)
        self._file.write_text(json.dumps(self._answers + self._earlier, ensure_ascii=False), encoding="utf-8")

    def forget(self) -> None:
        self._file.unlink(missing_ok=True)


def chosen(answer: str, names: Sequence[str], *, most: int | None = None) -> list[str]:
    """Names from an answer such as "1 3-5", "age, sex" or "all".

    >>> columns = ["age", "sex", "race", "income"]
    >>> chosen("1 3-4", columns), chosen("sex, age", ["age", "sex"]), chosen("all", ["age", "sex"])
    (['age', 'race', 'income'], ['sex', 'age'], ['age', 'sex'])
    """
    if answer.lower() == "all":
        answer = f"1-{len(names)}"
    picked: list[str] = []
    for word in answer.replace(",", " ").split() if answer not in names else [answer]:
        picked += [name for name in _in_list(word, names) if name not in picked]
    if not picked or (most is not None and len(picked) > most):
        amount = "at least one" if most is None else f"one to {most}"
        raise ParameterError(f"Choose {amount} by number or by name.")
    return picked


def _in_list(word: str, names: Sequence[str]) -> list[str]:
    if word in names:
        return [word]
    first, dash, last = word.partition("-")
    ends = (first, last) if dash else (first, first)
    if all(end.isdecimal() and 1 <= int(end) <= len(names) for end in ends):
        return list(names[int(ends[0]) - 1 : int(ends[1])])
    raise ParameterError(f"{word!r} is neither a number from 1 to {len(names)} nor one of the names.")


def number_lines(lines: Sequence[str]) -> None:
    for number, line in enumerate(lines, start=1):
        say((f"{number:4d}  ", "dim"), line)


def named(answer: str) -> str:
    if not answer or len(answer) > 200 or not answer.isprintable():
        raise ParameterError("A name has 1 to 200 printable characters.")
    return answer


def whole(answer: str) -> int:
    if not answer.isdecimal() or not 1 <= int(answer) <= 1_000_000:
        raise ParameterError("A whole number of rows, from what you know of the collection and not from the file.")
    return int(answer)
