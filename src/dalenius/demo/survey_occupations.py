"""Fifty occupations of the synthetic survey in nine major groups, in English and German.

Codes and groups follow the manner of the international standard classification; the numbers behind them are invented.
Each occupation has a typical level of education (0 to 4), a lean towards one sex (positive: women), a size, and a
typical yearly income in thousands, which the generator uses.
"""

import csv
from dataclasses import dataclass
from typing import Any

from dalenius.demo.files import shipped


def _lines(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(shipped(f"data/{name}.csv").splitlines()))


GROUPS = {line["code"]: (line["english"], line["german"]) for line in _lines("occupation_groups")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupation:
    """One occupation: its code begins with the code of its major group."""

    code: str
    english: str
    german: str
    education: float
    lean: float
    size: float
    pay: float

    @property
    def group(self) -> str:
        return GROUPS[self.code[0]][0]


def _read(line: dict[str, str]) -> Occupation:
    values: dict[str, Any] = line | {name: float(line[name]) for name in ("education", "lean", "size", "pay")}
    return Occupation(**values)


OCCUPATIONS = tuple(_read(line) for line in _lines("occupations"))
