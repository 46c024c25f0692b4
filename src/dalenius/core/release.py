"""What came out: measured values with their law, what is shown of them, and where they come from.

A `Block` is a measurement's output on the integer grid, unbiased and signed, never edited. A `Table` is what a
reader sees: a linear map of blocks (often the identity), with the variance of each cell. Adjustments (clipping,
rounding, reconciling) make new tables and are recorded; the blocks stay.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dalenius.core import registry
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import FloatArray, IntArray, Joint, Law, Withheld
from dalenius.core.rationals import plain, rational
from dalenius.errors import RequestError, UnknownName, Unsupported

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.axes import Axes

FORMAT = "dalenius-release/1"
# The law of a batch as a whole.
BATCH = Withheld("each table of a batch has a law of its own; take one of its members")
# Parts that most subjects lack: left out of documents where empty.
_LEFT_OUT = ("q", "candidates", "other", "within", "per", "which", "parts", "codes")

# Measures whose cells add up to a margin.
ADDITIVE = ("count", "total", "weighted count")
# The adjustment by which a policy shows whole counts from a least one on, and 0 below it.
SHOWN_FROM = "shown from"
# The adjustment by which values and intervals of one table are cut to what the declared bounds allow.
POSSIBLE = "possible"
# What a table measures whose one cell was selected among candidates, and whose number is not published.
SELECTION = "selection"
# The distance of two quartiles that were released before it.
INTERQUARTILE = "interquartile range"


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
    """The words of one release. `labels` name variables; `rows`, `columns` and `layers` name axes as asked for.

    `universe` is a sentence on whose records are covered, `q` the level of a quantile, as exact text, `candidates` the
    axes whose cells an answer was selected from, `other` the second variable of a ratio, covariance or correlation,
    `within` the range or the property that a range count or a proportion is about, `per` of how many units a rate is,
    `which` the end that was looked for, `parts` the variables of which an axis does not show every declared value, and
    `codes` what stands in the file for each label of a variable, where that is not the label itself.
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
    layers: tuple[str, ...] = ()
    universe: str = ""
    q: str = ""
    candidates: tuple[Axis, ...] = ()
    other: str = ""
    within: tuple[Condition, ...] = ()
    per: str = ""
    which: str = ""
    parts: tuple[str, ...] = ()
    codes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def label(self, variable: str) -> str:
        """What a variable is called; its name where no label is known."""
        return self.labels.get(variable) or variable

    @property
    def order(self) -> tuple[str, ...]:
        return (*self.rows, *self.columns, *self.layers)

    def to_dict(self) -> dict[str, Any]:
        content = asdict(self)
        content["labels"] = dict(self.labels)
        content["candidates"] = labels_of(CellSpace(self.candidates))
        return {name: part for name, part in content.items() if part or name not in _LEFT_OUT}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "Subject":
        content = dict(document)
        for name in ("where", "within"):
            content[name] = tuple(Condition(**{**c, "kept": tuple(c.get("kept", ()))}) for c in content.get(name, ()))
        for name in ("rows", "columns", "layers", "parts"):
            content[name] = tuple(content.get(name, ()))
        content["candidates"] = tuple(
            Axis(variable=axis["variable"], labels=tuple(axis["labels"]), level=axis.get("level", ""))
            for axis in content.get("candidates", ())
        )
        return cls(**content)

    @classmethod
    def derived(cls, request: Mapping[str, Any], dataset: str = "") -> "Subject":
        """What a canonical request says by itself: names for labels, and ends of ranges counted in declared steps."""
        keys = request.get("keys") or {}
        measure, q = measure_of(str(request.get("measure") or "count"), keys)
        texts: dict[str, Any] = {name: str(keys.get(name) or "") for name in ("other", "per", "which")}
        texts |= {name: str(request.get(name) or "") for name in ("of", "weight")}
        candidates = tuple(_candidate(axis) for axis in request.get("axes") or ())
        where, within = tuple(_derived(c) for c in request.get("where") or ()), _property(texts["of"], keys)
        return cls(dataset=dataset, measure=measure, q=q, candidates=candidates, where=where, within=within, **texts)


def _property(of: str, keys: Mapping[str, Any]) -> tuple[Condition, ...]:
    """The range or the categories that a method's own keys name, as they were written."""
    among = keys.get("among") or ()
    ends = among if isinstance(among, Mapping) else {}
    labels = tuple(map(str, ends.get("groups", ()) if ends else among))
    low, high = (str(ends.get(end) or "") for end in ("at_least", "at_most"))
    return (Condition(variable=of, kept=labels, low=low, high=high),) if labels or low or high else ()


def measure_of(measure: str, keys: Mapping[str, Any]) -> tuple[str, str]:
    """Return the measure to be named, and the level of a quantile; that of level 1/2 is the median.

    >>> measure_of("quantile", {"q": "1/4"}), measure_of("quantile", {"q": "0.5"})
    (('quantile', '0.25'), ('median', ''))
    """
    if measure != "quantile":
        return measure, ""
    level = rational(keys.get("q", "1/2"), "q")
    return ("median", "") if level == Fraction(1, 2) else ("quantile", plain(level))


def _candidate(described: Mapping[str, Any]) -> Axis:
    labels = [str(cell[0]) for cell in described.get("cells", ())]
    labels += [f"[{low}, {high}) steps" for low, high in pairwise(described.get("cuts", ()))]
    return Axis(variable=str(described["variable"]), labels=tuple(labels))


def _derived(described: Mapping[str, Any]) -> Condition:
    ends: Sequence[object] = (described.get("low"), described.get("high"))
    low, high = ("" if end is None else f"{end} steps" for end in ends)
    kept = tuple(str(label) for label in described.get("categories", ()))
    return Condition(variable=str(described["variable"]), kept=kept, low=low, high=high)


class Status(StrEnum):
    """Life of a release; each change is a ledger line, and none gives budget back."""

    DRAFT = "draft"
    EMBARGOED = "embargoed"
    PUBLISHED = "published"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class NoReply:
    """An outcome like any other: charged and published."""

    reason: str = "no reply"


@dataclass(frozen=True, eq=False)
class Value:
    """A measurement's output on the integer grid."""

    values: IntArray


@dataclass(frozen=True, eq=False)
class LabelledValue(Value):
    """Numbers with the labels of their cells, where the labels are part of the outcome."""

    labels: tuple[str, ...]


Outcome = Value | NoReply


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """One measured array with its public law. `role` tells the joint law what it is (for example "margin")."""

    name: str
    space: CellSpace
    values: IntArray
    law: Law
    role: str = "table"
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class Table:
    """What a reader sees: values in the unit of the data, and the variance of the noise in each cell.

    `sampled` is the variance of noise and sampling together, for the process behind the population, where it was
    estimated.
    """

    name: str
    space: CellSpace
    values: FloatArray
    variance: FloatArray
    measure: str = "count"
    is_unbiased: bool = True
    sampled: FloatArray | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.space.shape

    @property
    def std_error(self) -> FloatArray:
        """Standard error of each cell from the noise alone; NaN where it is withheld."""
        return np.sqrt(self.variance)

    @property
    def std_error_with_sampling(self) -> FloatArray:
        """Standard error of each cell from noise and sampling together; NaN where it was not estimated."""
        return np.full(self.values.shape, np.nan) if self.sampled is None else np.sqrt(self.sampled)

    def to_frame(self) -> "pd.DataFrame":
        """A pandas data frame, one row per cell: labels, value, std_error, status; intervals come from the release."""
        return cast("pd.DataFrame", registry.view("table", self).pandas())

    def to_polars(self) -> "pl.DataFrame":
        return cast("pl.DataFrame", registry.view("table", self).polars())

    def plot(self, path: object = None) -> "Axes":
        """Every cell with two standard errors of its noise."""
        return cast("Axes", registry.view("table", self).plot(path))

    def __repr__(self) -> str:
        return str(registry.view("table", self).lines())

    def _repr_html_(self) -> str:
        return str(registry.view("table", self).html())


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What a reader must know to cite and to judge a release. Nothing about the file is in it.

    `guarantee` is in plain words, `formal_guarantee` for specialists. `draws` says how the records were drawn, as
    declared; `extensions` names what other distributions contributed, each with its distribution and version.
    Documents leave these two out where there is nothing to say.
    """

    dataset: str
    population: str
    version: str
    definition: str
    budget: Mapping[str, str]
    neighbours: Mapping[str, Any]
    cost: Mapping[str, Any]
    mechanism: str
    strategy: str
    evidence: Mapping[str, Any]
    software: str
    request: Mapping[str, Any]
    digest: str
    ledger_entry: str = ""
    ledger_head: str = ""
    guarantee: str = ""
    formal_guarantee: str = ""
    warnings: tuple[str, ...] = ()
    is_tainted: bool = False
    draws: str = ""
    extensions: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Release:
    """Measured blocks, shown tables, the law that ties them, adjustments made, and provenance.

    A batch has `members`, each a release of its own with its own law; the batch itself has none that inference could
    use.
    """

    blocks: tuple[Block, ...]
    tables: tuple[Table, ...]
    law: Law
    provenance: Provenance
    adjustments: tuple[Mapping[str, Any], ...] = ()
    status: Status = Status.DRAFT
    subject: Subject | None = None
    members: tuple["Release", ...] = ()

    @classmethod
    def batch(
        cls, members: Sequence["Release"], *, provenance: Provenance, status: Status, subject: Subject | None
    ) -> "Release":
        """Several releases charged as one: all their blocks and tables, each under the law of its own member."""
        return cls(
            blocks=tuple(block for member in members for block in member.blocks),
            tables=tuple(table for member in members for table in member.tables),
            law=BATCH,
            provenance=provenance,
            status=status,
            subject=subject,
            members=tuple(members),
        )

    def with_members(self, members: Sequence["Release"]) -> "Release":
        whole = Release.batch(members, provenance=self.provenance, status=self.status, subject=self.subject)
        return replace(whole, adjustments=self.adjustments)

    @property
    def parts(self) -> tuple["Release", ...]:
        """The members of a batch, or the release itself: what products and analyses go through."""
        return self.members or (self,)

    def owner(self, table: Table) -> "Release":
        """The member that shows a table; itself where it is no batch."""
        return next((part for part in self.members if any(table is own for own in part.tables)), self)

    @property
    def about(self) -> Subject:
        """What it is about: its own subject, or what its canonical request says."""
        request = self.provenance.request
        if self.subject is None:
            return Subject.derived(request, self.provenance.dataset)
        if "measure" not in request:
            return self.subject
        measure, q = measure_of(str(request["measure"]), request.get("keys") or {})
        return replace(self.subject, measure=measure, q=q)

    @property
    def table(self) -> Table:
        """The first (often the only) shown table."""
        if not self.tables:
            raise RequestError("This release has no table: the outcome was 'no reply'.")
        return self.tables[0]

    @property
    def values(self) -> FloatArray:
        """Shown values of the first table, its axes in the order in which they were asked for."""
        return self.table.values.reshape(self.table.shape).transpose(self.asked_order(self.table))

    def asked_order(self, table: Table) -> tuple[int, ...]:
        """Places of a table's axes in the order in which they were asked for; axes of the answer itself are last."""
        asked = [name.partition(".")[0] for name in self.owner(table).about.order]
        axes = [axis.variable for axis in table.space.axes]
        ranks = [asked.index(name) if name in asked else len(asked) for name in axes]
        return tuple(sorted(range(len(axes)), key=ranks.__getitem__))

    def find(self, *names: str) -> Table:
        """The shown table over exactly these axes, in any order."""
        for table in self.tables:
            if {axis.name for axis in table.space.axes} == set(names):
                return table
        available = [" x ".join(a.name for a in t.space.axes) or "total" for t in self.tables]
        raise UnknownName.among("table", " x ".join(names), available)

    @property
    def is_joint(self) -> bool:
        """Whether shown cells combine several measured blocks."""
        return isinstance(self.law, Joint)

    def with_(self, **changes: Any) -> "Release":
        """A variant of this release; a batch is changed table by table."""
        if self.members and changes.keys() & {"tables", "blocks", "law"}:
            raise Unsupported("A batch is changed table by table: take one of its members.")
        return replace(self, **changes)

    def interval(self, confidence: float = 0.95, *, with_sampling: bool = False) -> tuple[FloatArray, FloatArray]:
        """Ends of each cell's interval, in the table's shape: for the population value, or for the process.

        `with_sampling` asks for noise and sampling together; NaN where the error of sampling was not estimated.
        """
        ends = registry.view("release", self).interval(confidence, with_sampling=with_sampling)
        return cast("tuple[FloatArray, FloatArray]", ends)

    def margin(self, *names: str) -> Table:
        """The table over some of the axes, as published or as the sum of the finest table."""
        return cast(Table, registry.view("release", self).margin(*names))

    def to_frame(self, table: Table | None = None, confidence: float = 0.95) -> "pd.DataFrame":
        """A pandas frame, one row per cell: labels, value, std_error, lower, upper, status (extra `formats`)."""
        return cast("pd.DataFrame", registry.view("release", self).pandas(table or self.table, confidence))

    def to_polars(self, table: Table | None = None, confidence: float = 0.95) -> "pl.DataFrame":
        return cast("pl.DataFrame", registry.view("release", self).polars(table or self.table, confidence))

    def plot(self, path: object = None, *, table: Table | None = None, confidence: float = 0.95) -> "Axes":
        """Every cell with its margin of error (needs the extra `plot`); of many cells the largest."""
        return cast("Axes", registry.view("release", self).plot(path, table or self.table, confidence))

    def __str__(self) -> str:
        return str(registry.view("release", self).text())

    def __repr__(self) -> str:
        return str(registry.view("release", self).lines())

    def _repr_html_(self) -> str:
        return str(registry.view("release", self).html())


def labels_of(space: CellSpace) -> list[dict[str, object]]:
    return [{"name": a.name, "variable": a.variable, "labels": list(a.labels), "level": a.level} for a in space.axes]


def public_axis(axis: Axis) -> Axis:
    return Axis(variable=axis.variable, labels=axis.labels, level=axis.level)
