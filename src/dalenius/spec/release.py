"""The release document as a schema: what an outside reader may rely on.

`publish/_document.py` writes it; this model describes and checks it.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from dalenius.spec.document import usual


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
    values: tuple[int, ...] = usual((), "left out where the numbers stand in columns")
    law: LawEntry
    parameters: dict[str, Any]


class TableEntry(_Entry):
    """What is shown, in the unit of the data; one number for variance means that all cells share it."""

    name: str
    measure: str
    is_unbiased: bool
    space: SpaceEntry
    values: tuple[float | None, ...] = usual((), "left out where the numbers stand in columns")
    variance: float | tuple[float | None, ...] | None = usual(
        None, "of the noise, for the finite population; null where it is withheld"
    )
    variance_with_sampling: float | tuple[float | None, ...] | None = usual(
        None,
        "of noise and sampling together, for the process behind the population; left out where it was not estimated",
    )


class ExtensionEntry(_Entry):
    """An extension that took part: what it is, and the distribution and version that it is of."""

    package: str
    name: str
    distribution: str
    version: str


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
    guarantee: str = Field(description="in plain words, for this release alone")
    formal_guarantee: str = Field(description="for specialists: definition, amounts and neighbours")
    warnings: tuple[str, ...]
    is_tainted: bool = Field(description="made with recorded randomness: not private")
    draws: str = usual("", "how the records were drawn: independent, census or clusters; left out where not declared")
    extensions: tuple[ExtensionEntry, ...] = usual(
        (), "what other distributions contributed; left out where there is nothing"
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
    labels: dict[str, str] = usual(dict, "what each variable is called")
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    universe: str = usual("", "whose records are covered, in one sentence")
    q: str = usual("", "level of a quantile; left out elsewhere")
    candidates: tuple[AxisEntry, ...] = usual(
        (), "axes whose cells an answer was selected from, the last running fastest; left out elsewhere"
    )
    other: str = usual("", "the second variable of a ratio, covariance or correlation")
    within: tuple[ConditionEntry, ...] = usual(
        (), "the range or the property that a range count or a proportion is about"
    )
    per: str = usual("", "of how many units a rate is; left out elsewhere")
    which: str = usual("", "which end was looked for; left out elsewhere")
    parts: tuple[str, ...] = usual((), "variables of which an axis does not show every declared value")


class CellsEntry(_Entry):
    """A Parquet file with one row per number: blocks, then tables, each in the order of its cells."""

    sha256: str = Field(description="digest of the file")
    file: str = usual("", "its name, beside the document")
    parquet: str = usual("", "or the file itself, in base64")


class ReleaseDocument(_Entry):
    """A whole release document; of very many cells the numbers stand in columns."""

    format: Literal["dalenius-release/1"]
    cells: CellsEntry | None = usual(None, "only where there are very many cells")
    status: Literal["draft", "embargoed", "published", "withdrawn"]
    provenance: ProvenanceEntry
    law: LawEntry
    blocks: tuple[BlockEntry, ...]
    tables: tuple[TableEntry, ...]
    adjustments: tuple[dict[str, Any], ...]
    subject: SubjectEntry | None = usual(None, "left out where a table is shown by itself")
    members: tuple["ReleaseDocument", ...] = usual(
        (), "the tables of a batch, each a release with its own law; left out elsewhere"
    )
