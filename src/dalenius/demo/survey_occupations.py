"""Fifty occupations of the synthetic survey in nine major groups, in English and German.

Codes and groups follow the manner of the international standard classification; the numbers behind them are invented.
Each occupation has a typical level of education (0 to 4), a lean towards one sex (positive: women), a size, and a
typical yearly income in thousands, which the generator uses.
"""

import csv
from dataclasses import dataclass
from typing import Any

from dalenius.demo.files import shipped

GROUPS = {
    "1": ("Managers", "Führungskräfte"),
    "2": ("Professionals", "Akademische Berufe"),
    "3": ("Technicians and associate professionals", "Techniker und gleichrangige Berufe"),
    "4": ("Clerical support workers", "Bürokräfte"),
    "5": ("Service and sales workers", "Dienstleistungs- und Verkaufsberufe"),
    "6": ("Skilled agricultural workers", "Fachkräfte in der Landwirtschaft"),
    "7": ("Craft and related trades workers", "Handwerksberufe"),
    "8": ("Plant and machine operators", "Bedienung von Anlagen und Maschinen"),
    "9": ("Elementary occupations", "Hilfsarbeitskräfte"),
}


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


OCCUPATIONS = tuple(_read(line) for line in csv.DictReader(shipped("data/occupations.csv").splitlines()))
