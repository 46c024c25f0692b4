"""A procedure of two steps: a coarse table first, then detail only where the *released* coarse counts are large.

The second measurement depends on the first answer, never on data: which coarse categories are refined is a function
of released numbers. Both steps are reserved at their worst case before the first row is read; what the second step
does not need is not refunded. Sparse parts of a table stay merged, along the declared hierarchy.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace

from dalenius.core.budget import Cost
from dalenius.core.contracts import Mechanism
from dalenius.core.domain import Axis, CellSpace, Variable
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import TableQuery
from dalenius.core.release import NoReply, Outcome
from dalenius.errors import ParameterError
from dalenius.measurements.noisy import Noisy
from dalenius.statistics.count import Count


@dataclass(frozen=True, kw_only=True)
class RefinementPlan:
    """Coarse counts by a declared level, then fine counts inside the groups that reach the threshold."""

    variable: Variable
    level: str
    threshold: int
    coarse_mechanism: Mechanism
    fine_mechanism: Mechanism
    neighbours: Neighbours
    where: TableQuery
    definition: str = "pure"

    def __post_init__(self) -> None:
        if self.threshold < 1:
            raise ParameterError(f"threshold must be at least 1; received {self.threshold}.", name="threshold")

    @property
    def _coarse(self) -> Noisy:
        hierarchy = self.variable.hierarchy(self.level)
        axis = Axis(variable=self.variable.name, labels=hierarchy.groups, codes=hierarchy.parent, level=self.level)
        return self._count("coarse", axis, self.coarse_mechanism)

    def _fine(self, groups: frozenset[int]) -> Noisy:
        hierarchy = self.variable.hierarchy(self.level)
        labels = self.variable.categories.labels
        kept = [c for c in range(len(labels)) if hierarchy.parent[c] in groups]
        codes = [kept.index(c) if c in kept else -1 for c in range(len(labels))]
        axis = Axis(variable=self.variable.name, labels=tuple(labels[c] for c in kept), codes=tuple(codes))
        return self._count("fine", axis, self.fine_mechanism)

    def _count(self, name: str, axis: Axis, mechanism: Mechanism) -> Noisy:
        return Noisy(name, Count(replace(self.where, space=CellSpace((axis,)))), mechanism)

    @property
    def largest(self) -> tuple[Noisy, Noisy]:
        """Both steps, with every group refined."""
        everything = frozenset(range(len(self.variable.hierarchy(self.level).groups)))
        return self._coarse, self._fine(everything)

    @property
    def reservation(self) -> Cost:
        """What both steps cost at most."""
        coarse, fine = self.largest
        return coarse.profile(self.neighbours).cost() + fine.profile(self.neighbours).cost()

    def steps(self) -> Generator[Noisy, Outcome, None]:
        """The coarse table; then, given its answer, the fine one."""
        outcome = yield self._coarse
        if isinstance(outcome, NoReply):
            return
        large = frozenset(i for i, v in enumerate(outcome.values.tolist()) if v >= self.threshold)
        if large:
            yield self._fine(large)
