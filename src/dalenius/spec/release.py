"""The release document as a schema: what an outside reader may rely on.

`publish/_document.py` writes it; this model describes and checks it.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AxisEntry(_Entry):
    """A classification: its variable and its labels in order."""

    name: str
    variable: str
    labels: tuple[str, ...] | int = Field(description="in order; a number stands for so many that are counted from 0")
    level: str = ""


class SpaceEntry(_Entry):
    """All cells, the last axis running fastest; structural zeros by position on each axis."""

    axes: tuple[AxisEntry, ...]
    structural_zeros: tuple[tuple[int, ...], ...]


class LawEntry(BaseModel):
    """The public law of the noise: additive, censored, kernel, thinned, joint or withheld, with its parameters."""

    model_config = ConfigDict(extra="allow", frozen=True)
    kind: Literal["additive", "censored", "kernel", "thinned", "joint", "withheld"]


class BlockEntry(_Entry):
    """What was measured: signed integers on the measured grid, never edited."""

    name: str
    role: str
    space: SpaceEntry
    values: tuple[int, ...] = Field(default=(), description="left out where the numbers stand in columns")
    law: LawEntry
    parameters: dict[str, Any]


class TableEntry(_Entry):
    """What is shown, in the unit of the data; one number for variance means that all cells share it."""

    name: str
    measure: str
    is_unbiased: bool
    space: SpaceEntry
    values: tuple[float | None, ...] = Field(default=(), description="left out where the numbers stand in columns")
    variance: float | tuple[float | None, ...] | None = Field(
        default=None, description="of the noise, for the finite population; null where it is withheld"
    )
    variance_with_sampling: float | tuple[float | None, ...] | None = Field(
        default=None,
        description="of noise and sampling together, for the process behind the population; left out where it was "
        "not estimated",
    )


class ProvenanceEntry(_Entry):
    """Where it comes from and what is guaranteed; nothing about the file."""

    dataset: str
    population: str
    version: str
    definition: str
    budget: dict[str, str]
    neighbours: dict[str, Any]
    cost: dict[str, Any]
    mechanism: str
    strategy: str
    evidence: dict[str, Any]
    software: str
    request: dict[str, Any]
    digest: str = Field(description="SHA-256 of the canonical request")
    ledger_entry: str
    ledger_head: str
    guarantee: str
    warnings: tuple[str, ...]
    is_tainted: bool = Field(description="made with recorded randomness: not private")
    draws: str = Field(
        default="",
        description="how the records were drawn: independent, census or clusters; left out where not declared",
    )


class ConditionEntry(_Entry):
    """Rows that are counted: some labels of a variable, or a range of numbers."""

    variable: str
    kept: tuple[str, ...] = ()
    low: str = ""
    high: str = ""


class SubjectEntry(_Entry):
    """What the numbers are about; `rows`, `columns` and `layers` name axes as asked for."""

    title: str = ""
    dataset: str = ""
    measure: str = "count"
    of: str = ""
    unit: str = ""
    weight: str = ""
    where: tuple[ConditionEntry, ...] = ()
    labels: dict[str, str] = Field(default_factory=dict, description="what each variable is called")
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    universe: str = Field(default="", description="whose records are covered, in one sentence")
    q: str = Field(default="", description="level of a quantile; left out elsewhere")
    candidates: tuple[AxisEntry, ...] = Field(
        default=(),
        description="axes whose cells an answer was selected from, the last running fastest; left out elsewhere",
    )
    other: str = Field(default="", description="the second variable of a ratio, covariance or correlation")
    within: tuple[ConditionEntry, ...] = Field(
        default=(), description="the range or the property that a range count or a proportion is about"
    )
    per: str = Field(default="", description="of how many units a rate is; left out elsewhere")
    which: str = Field(default="", description="which end was looked for; left out elsewhere")


class CellsEntry(_Entry):
    """A Parquet file with one row per number: blocks, then tables, each in the order of its cells."""

    sha256: str = Field(description="digest of the file")
    file: str = Field(default="", description="its name, beside the document")
    parquet: str = Field(default="", description="or the file itself, in base64")


class ReleaseDocument(_Entry):
    """A whole release document; in the second format the numbers of blocks and tables stand in columns."""

    format: Literal["dalenius-release/1"]
    cells: CellsEntry | None = Field(default=None, description="only in the second format")
    status: Literal["draft", "embargoed", "published", "withdrawn"]
    provenance: ProvenanceEntry
    law: LawEntry
    blocks: tuple[BlockEntry, ...]
    tables: tuple[TableEntry, ...]
    adjustments: tuple[dict[str, Any], ...]
    subject: SubjectEntry | None = Field(default=None, description="left out where a table is shown by itself")
    members: tuple["ReleaseDocument", ...] = Field(
        default=(), description="the tables of a batch, each a release with its own law; left out elsewhere"
    )
