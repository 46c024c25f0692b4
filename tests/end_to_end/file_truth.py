"""Exact answers straight from a file, by SQL that shares no code with the engine: what releases are compared with.

DuckDB's own sniffing reader is used for text files, so that a misreading by the engine shows. The universe is spelled
out here once more: rows without a unit are out; a row counts on an axis if it has a value there (or the declared
stand-in); a number that is missing is in no total, mean or median; what lies outside the bounds is moved to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Cells = dict[tuple[str, ...], float]


@dataclass(frozen=True, kw_only=True)
class FileTruth:
    """A file as its custodian confirmed it: unit, labels and stand-ins of axes, bounds of numbers, levels."""

    path: Path
    unit: str = ""
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    steps: Mapping[str, float] = field(default_factory=dict)
    codes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def relation(self) -> str:
        """What stands after FROM."""
        if self.path.suffix == ".parquet":
            return f"read_parquet('{self.path}')"
        return f"read_csv('{self.path}', all_varchar = true, nullstr = '')"

    def axis(self, name: str) -> str:
        """SQL of an axis as text: the file's value, or what stands for a missing one."""
        text = f'CAST("{self.columns.get(name, name)}" AS VARCHAR)'
        for code in self.codes.get(name, ()):
            text = f"NULLIF({text}, '{code}')"
        return f"COALESCE({text}, '{self.stand_ins[name]}')" if name in self.stand_ins else text

    def number(self, name: str) -> str:
        """SQL of a number within its bounds, and on its grid where that is coarser than the file."""
        value = f'CAST("{self.columns.get(name, name)}" AS DECIMAL(18, 4))'
        for code in self.codes.get(name, ()):
            value = f"NULLIF({value}, {code})"
        if name in self.steps:
            value = f"round_even({value} / {self.steps[name]}, 0) * {self.steps[name]}"
        if name not in self.bounds:
            return value
        low, high = self.bounds[name]
        return f"CASE WHEN {value} IS NOT NULL THEN least(greatest({value}, {low}), {high}) END"

    def rows(self, where: Mapping[str, Any], *axes: str) -> str:
        """Conditions on the rows that count."""
        parts = [f"{self.axis(name)} IS NOT NULL" for name in axes]
        parts += [f'"{self.unit}" IS NOT NULL'] if self.unit else []
        for name, condition in where.items():
            if isinstance(condition, dict):
                parts += [f"{self.number(name)} >= {condition['at_least']}"] if "at_least" in condition else []
                parts += [f"{self.number(name)} <= {condition['at_most']}"] if "at_most" in condition else []
            else:
                kept = ", ".join(f"'{self._value(name, label)}'" for label in condition)
                parts.append(f"{self.axis(name)} IN ({kept})")
        return " AND ".join(parts) or "true"

    def _value(self, name: str, label: str) -> str:
        """What the file holds for a label, where one value stands for it."""
        return next((v for v, said in self.labels.get(name, {}).items() if said == label), label)

    def table(self, aggregate: str, where: Mapping[str, Any], *axes: str) -> Cells:
        """One number for each combination of labels that occurs; labels that share a group are added up."""
        chosen = ", ".join([*(self.axis(name) for name in axes), aggregate])
        grouped = f" GROUP BY {', '.join(self.axis(name) for name in axes)}" if axes else ""
        cells: Cells = {}
        for *values, number in self._ask(f"{chosen} FROM {self.relation} WHERE {self.rows(where, *axes)}{grouped}"):
            key = tuple(self.labels.get(n, {}).get(v, v) for n, v in zip(axes, values, strict=True))
            cells[key] = cells.get(key, 0.0) + float(number or 0)
        return cells

    def values(self, of: str, where: Mapping[str, Any], *axes: str) -> dict[tuple[str, ...], list[float]]:
        """All values of a number for each combination of labels."""
        listed: dict[tuple[str, ...], list[float]] = {}
        chosen = ", ".join([*(self.axis(name) for name in axes), self.number(of)])
        condition = f"{self.rows(where, *axes)} AND {self.number(of)} IS NOT NULL"
        for *values, number in self._ask(f"{chosen} FROM {self.relation} WHERE {condition}"):
            key = tuple(self.labels.get(n, {}).get(v, v) for n, v in zip(axes, values, strict=True))
            listed.setdefault(key, []).append(float(number))
        return listed

    def has_missing(self, name: str) -> bool:
        """Whether a column lacks values."""
        ((count,),) = self._ask(f"count(*) FROM {self.relation} WHERE {self.axis(name)} IS NULL")
        return int(count) > 0

    @staticmethod
    def _ask(statement: str) -> list[tuple[Any, ...]]:
        import duckdb

        with duckdb.connect(":memory:") as connection:
            rows: list[tuple[Any, ...]] = connection.execute(f"SELECT {statement}").fetchall()
            return rows
