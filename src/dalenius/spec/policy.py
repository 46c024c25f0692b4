"""The policy document: what the custodian allows, and how much."""

import re
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from dalenius.core import registry
from dalenius.core.budget import MOST_EPSILON, Cost
from dalenius.core.cells import MOST_CELLS
from dalenius.core.evidence import Evidence, Level
from dalenius.core.neighbours import Relation
from dalenius.errors import DocumentError, ParameterError
from dalenius.spec.document import Document, Exact, Name, Part, Text, Whole, exact
from dalenius.spec.show import ShowPart

STRONG = (Level.PROVED, Level.ENUMERATED, Level.COMPUTATIONAL)


class QuotaPart(Part, section="a quota"):
    """[analysts.NAME] or [sensitive.VARIABLE]: a cap inside the budget."""

    rho: Exact
    delta: Exact | None = None

    @model_validator(mode="after")
    def _is_sensible(self) -> Self:
        """Refuse amounts that grant nothing or everything."""
        for name, amount, most in (("rho", self.rho, MOST_EPSILON), ("delta", self.delta, 1)):
            if amount is not None and (not 0 <= amount <= most or (name == "delta" and amount == 1)):
                raise ParameterError(f"{name} of a policy must lie between 0 and {most}; received {amount}.")
        return self


class BudgetPart(QuotaPart, section="[budget]"):
    """[budget]: what all releases about the population may cost together, for ever."""

    rho: Exact = exact(2)
    delta: Exact = exact("1e-6")

    def limit(self, relation: Relation) -> Cost:
        """The cap as the ledger's master account takes it."""
        return Cost(relation=relation, rho=self.rho, delta=self.delta)


class WavePart(QuotaPart, section="[[waves]]"):
    """[[waves]]: what one version of a series may spend; versions that are not listed are refused."""

    version: Name


class AllowPart(Part, section="[allow]"):
    """[allow]: which methods may be used; None means every one whose evidence is allowed."""

    definitions: tuple[Name, ...] | None = None
    mechanisms: tuple[Name, ...] | None = None
    evidence: tuple[Level, ...] = STRONG
    acknowledge: tuple[Name, ...] = Field(
        default=(), description="Data-dependent or otherwise weaker definitions that the custodian opens by name."
    )
    extensions: dict[Name, Name] = Field(
        default_factory=dict,
        description="Distributions whose extensions may be used, each with the one version that may; no other is.",
    )
    most_cells: Whole = Field(default=5_000_000, ge=1, le=MOST_CELLS)

    @model_validator(mode="after")
    def _is_exact(self) -> Self:
        for name, version in self.extensions.items():
            if not re.fullmatch(r"[A-Za-z0-9._!+-]+", version):
                raise ParameterError(
                    f'[allow.extensions] takes one exact version of {name!r}, such as "1.0.2"; received {version!r}.'
                )
        if len({registry.canonical_name(name) for name in self.extensions}) < len(self.extensions):
            raise ParameterError("[allow.extensions] names one distribution twice.")
        return self


class TableRules(Part, section="[table]"):
    """[table]: the properties of table servers as explicit options; each works on released values or on the law."""

    threshold: Whole | None = Field(default=None, ge=1, description="Released counts below it are not shown.")
    maximum_entropy: bool = Field(default=False, strict=True)
    sparse: Exact | None = Field(default=None, description="Withhold a table whose mean released count is below this.")
    nonnegative: bool = Field(default=False, strict=True)
    structural_zeros: bool = Field(default=True, strict=True)
    unbiased: bool | None = Field(
        default=None, strict=True, description="If true, nothing is shown whose expected value is not the exact one."
    )
    variance_cap: Exact | None = None
    truncation: Whole | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _is_sensible(self) -> Self:
        if self.variance_cap is not None and self.variance_cap <= 0:
            raise ParameterError("variance_cap must be positive.")
        if self.sparse is not None and self.sparse < 0:
            raise ParameterError("sparse must not be negative.")
        for name in ("threshold", "nonnegative"):
            if self.unbiased and getattr(self, name):
                raise ParameterError(
                    f"unbiased = true and {name} contradict each other: values that are moved up to what may be shown "
                    "are biased. Leave one of them out.",
                    name=name,
                )
        return self


class PolicyDocument(Document):
    """A whole policy document; every part has a default."""

    kind: ClassVar[str] = "policy document"

    population: Text = Field(default="", description="The population it is meant for; empty for any.")
    budget: BudgetPart = BudgetPart()
    analysts: dict[Name, QuotaPart] = Field(default_factory=dict)
    default_quota: QuotaPart | None = Field(default=None, description="For analysts who are not named.")
    waves: tuple[WavePart, ...] = Field(default=(), description="A schedule that spreads the budget over versions.")
    official_share: Exact = Field(default=exact(0), description="Share of the budget kept for official tables.")
    approval_above: Exact | None = Field(default=None, description="A rho above this needs a second person.")
    sensitive: dict[Name, QuotaPart] = Field(default_factory=dict)
    allow: AllowPart = AllowPart()
    table: TableRules = TableRules()
    show: ShowPart = ShowPart()
    floors: dict[Name, Exact] = Field(default_factory=dict, description="Least scale of a data-dependent method.")
    release: Literal["draft", "embargoed", "published"] = "published"

    @model_validator(mode="after")
    def _is_sensible(self) -> Self:
        if not 0 <= self.official_share <= 1:
            raise ParameterError("official_share must lie between 0 and 1.")
        if self.approval_above is not None and self.approval_above < 0:
            raise ParameterError("approval_above must not be negative.")
        if self.show.anchor or self.show.published:
            raise ParameterError("A policy's [show] names no other release and no totals; a request may.")
        if any(floor <= 0 for floor in self.floors.values()):
            raise DocumentError("A floor must be positive.")
        return self

    def quota(self, analyst: str) -> QuotaPart | None:
        """The cap of one analyst; None if only the whole budget limits them."""
        return self.analysts.get(analyst, self.default_quota)

    @property
    def extensions(self) -> registry.Allowed:
        """Which extensions of other distributions may be used: unvetted ones where weak evidence is opened, too."""
        allow, is_opened = self.allow, Level.NONE in self.allow.evidence
        return registry.Allowed.of(allow.extensions, is_unvetted=is_opened, acknowledged=allow.acknowledge)

    def allows(self, kind: Literal["definitions", "mechanisms"], name: str, evidence: Evidence) -> bool:
        """Whether a definition, mechanism or measurement may be used: named by the custodian, or of allowed
        evidence.
        """
        named: tuple[str, ...] | None = getattr(self.allow, kind)
        is_named = named is None or name in named
        return name in self.allow.acknowledge or (is_named and evidence.level in self.allow.evidence)
