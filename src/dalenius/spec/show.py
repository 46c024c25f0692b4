"""[show]: what is done to released numbers before readers see them; arithmetic on what was released, free of charge."""

from typing import Self

from pydantic import Field, model_validator

from dalenius.errors import DocumentError
from dalenius.spec.document import Exact, Part, Text, flag, usual


class ShowPart(Part, section="[show]"):
    """[show] of a request or a policy. The measured values stay in the release, and intervals are made of them."""

    consistent: bool = flag("Tables agree, by least squares.")
    published: bool = flag("Respect the totals that the dataset document declares.")
    anchor: Text = usual("", "Ledger entry of an earlier release that is agreed with.")
    nonnegative: bool = flag("The nearest tables without negative cells.")
    least: Exact | None = usual(None, "Smaller values are shown as this one.")
    most: Exact | None = usual(None, "Larger values are shown as this one.")
    whole: bool = flag("Whole numbers that add up.")

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.least is not None and self.most is not None and self.least > self.most:
            raise DocumentError("least of [show] must not exceed most.")
        return self

    @property
    def is_plain(self) -> bool:
        """Whether numbers are shown as they were measured."""
        return self == ShowPart()


class PublishedPart(Part, section="[[published]]"):
    """[[published]]: exact totals that are public already, and where they were published."""

    over: tuple[str, ...] = usual((), "Variables in whose cells the totals are; none for all.")
    totals: tuple[Exact, ...] = Field(description="One for each cell, in declared order, the last variable fastest.")
    source: Text = Field(min_length=1, description="Where they were published.")

    @model_validator(mode="after")
    def _has_a_source(self) -> Self:
        if not self.source.strip():
            raise DocumentError("A published total needs the source in which it stands.")
        if len(set(self.over)) != len(self.over):
            raise DocumentError("A published total names a variable twice.")
        return self
