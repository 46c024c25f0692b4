"""What a release is about, in the words of its documents: title, measure, unit, filter, labels, layout.

A subject is made from the request and the dataset document alone, and says nothing about the file. A release that was stored
without one has the subject that its canonical request gives, with names in the place of labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Rows that are counted: those with one of the `kept` labels, or a number from `low` to `high` (exact text)."""

    variable: str
    kept: tuple[str, ...] = ()
    low: str = ""
    high: str = ""

    @property
    def text(self) -> str:
        """The kept values in words.

        >>> Condition(variable="age", low="18").text, Condition(variable="sex", kept=("f", "m")).text
        ('18 – …', 'f, m')
        """
        return ", ".join(self.kept) if self.kept else f"{self.low or '…'} – {self.high or '…'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The words of one release. `labels` name variables; `rows`, `columns` and `wafers` hold names of axes as asked for.

    `universe` is a sentence on whose records are covered; empty where an older release does not say.
    """

    title: str = ""
    dataset: str = ""
    measure: str = "count"
    of: str = ""
    unit: str = ""
    weight: str = ""
    where: tuple[Condition, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    wafers: tuple[str, ...] = ()
    universe: str = ""

    def label(self, variable: str) -> str:
        """What a variable is called; its name where no label is known."""
        return self.labels.get(variable) or variable

    @property
    def order(self) -> tuple[str, ...]:
        """Names of axes in reading order."""
        return (*self.rows, *self.columns, *self.wafers)

    def to_dict(self) -> dict[str, Any]:
        """For documents."""
        plain = asdict(self)
        plain["labels"] = dict(self.labels)
        return plain

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "Subject":
        """The inverse of `to_dict`."""
        content = dict(document)
        content["where"] = tuple(_condition(c) for c in content.get("where", ()))
        for name in ("rows", "columns", "wafers"):
            content[name] = tuple(content.get(name, ()))
        return cls(**content)

    @classmethod
    def derived(cls, request: Mapping[str, Any], dataset: str = "") -> "Subject":
        """What a canonical request says by itself: names for labels, and ends of ranges counted in declared steps."""
        options = request.get("options") or {}
        return cls(
            dataset=dataset,
            measure=str(options.get("statistic") or request.get("measure") or "count"),
            of=str(request.get("of") or ""),
            weight=str(request.get("weight") or ""),
            where=tuple(_derived(c) for c in request.get("where") or ()),
        )


def _condition(document: Mapping[str, Any]) -> Condition:
    return Condition(**{**document, "kept": tuple(document.get("kept", ()))})


def _derived(described: Mapping[str, Any]) -> Condition:
    ends: Sequence[object] = (described.get("low"), described.get("high"))
    low, high = ("" if end is None else f"{end} steps" for end in ends)
    kept = tuple(str(label) for label in described.get("categories", ()))
    return Condition(variable=str(described["variable"]), kept=kept, low=low, high=high)
