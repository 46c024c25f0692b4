"""Which data sets count as neighbours: the unit, the relation, and where the guarantee is made."""

from dataclasses import dataclass, replace
from enum import StrEnum

from dalenius.errors import ParameterError


class Relation(StrEnum):
    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


class Scope(StrEnum):
    """Which pairs of data sets the guarantee is made for."""

    ALL_DATA = "all data"
    ACTUAL_DATA = "actual data"
    OBSERVED_ROWS = "observed rows"
    GIVEN_THE_PUBLIC = "given the public attributes"

    @property
    def is_data_dependent(self) -> bool:
        """Whether which pairs are meant depends on the data at hand, and with it the noise."""
        return self in (Scope.ACTUAL_DATA, Scope.OBSERVED_ROWS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """One unit (a row, or a person with up to `max_rows` rows) is added, removed or replaced.

    `public` names attributes that the replaced unit keeps, because everybody knows them. `persons` is how many act as
    one.
    """

    relation: Relation = Relation.ADD_REMOVE
    unit: str = "row"
    max_rows: int = 1
    scope: Scope = Scope.ALL_DATA
    public: tuple[str, ...] = ()
    persons: int = 1

    def __post_init__(self) -> None:
        if self.max_rows < 1:
            raise ParameterError(f"max_rows must be at least 1; received {self.max_rows}.")
        if self.public and not self.is_replace:
            raise ParameterError("Whoever keeps publicly known attributes is replaced, not added or removed.")

    @property
    def is_replace(self) -> bool:
        return self.relation is Relation.REPLACE

    def keeps(self, variable: str) -> bool:
        """Whether a unit has the same value of a variable in both data sets.

        Proved for single rows alone: which of a person's rows count may depend on what the others hold.
        """
        return self.unit == "row" and variable in self.public

    def grouped(self, size: int) -> "Neighbours":
        """Neighbours for whom `size` units act as one, with all of their rows."""
        if size == 1:
            return self
        what = "rows" if self.unit == "row" else f"units ({self.unit})"
        return replace(self, unit=f"group of {size} {what}", persons=size, max_rows=size * self.max_rows)

    def sentence(self) -> str:
        who = "one row" if self.unit == "row" else f"one {self.unit}, with at most {self.max_rows} row(s),"
        how = "is replaced by another" if self.is_replace else "is added or removed"
        if self.public:
            how += f" with the same publicly known attributes ({', '.join(self.public)})"
        return f"Two data sets are neighbours if {who} {how}."

    def to_dict(self) -> dict[str, object]:
        return {
            "relation": str(self.relation),
            "unit": self.unit,
            "max_rows": self.max_rows,
            "scope": str(self.scope),
        } | ({"public": list(self.public)} if self.public else {})
