"""Questions on the terminal: one line each, a default in brackets, and the reason when an answer is not taken."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import typer

from dalenius.cli.output import say
from dalenius.errors import DaleniusError, ParameterError

T = TypeVar("T")


def ask(question: str, read: Callable[[str], T], default: str = "") -> T:
    """The first answer that `read` takes; a refusal is said, and the question asked again."""
    while True:
        answer = typer.prompt(question, default=default, show_default=bool(default))
        try:
            return read(str(answer).strip())
        except DaleniusError as refusal:
            say("  ", (refusal.message, "yellow"))


def is_yes(question: str, *, default: bool) -> bool:
    words = {"y": True, "yes": True, "n": False, "no": False}

    def read(answer: str) -> bool:
        if answer.lower() not in words:
            raise ParameterError("Answer y or n.")
        return words[answer.lower()]

    return ask(question, read, "y" if default else "n")


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
        picked += [name for name in _named(word, names) if name not in picked]
    if not picked or (most is not None and len(picked) > most):
        amount = "at least one" if most is None else f"one to {most}"
        raise ParameterError(f"Choose {amount} by number or by name.")
    return picked


def _named(word: str, names: Sequence[str]) -> list[str]:
    if word in names:
        return [word]
    first, dash, last = word.partition("-")
    ends = (first, last) if dash else (first, first)
    if all(end.isdecimal() and 1 <= int(end) <= len(names) for end in ends):
        return list(names[int(ends[0]) - 1 : int(ends[1])])
    raise ParameterError(f"{word!r} is neither a number from 1 to {len(names)} nor one of the names.")
