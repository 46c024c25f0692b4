"""The kit that every strategy for margins must pass: what it plans is what dense least squares gives on small tables.

A plan is taken as it is: its measurements are run without noise on tables with one record, which gives the matrix of
what is measured; its own draws give the variances of its noise. From both, the best linear unbiased estimate has a
covariance that no closed form was used for. Published values must be unbiased, published variances must equal it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.domain import Axis, Categories, CellSpace, Domain, Hierarchy, Variable
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Block, Table, Value
from dalenius.engines.memory import MemorySource
from dalenius.errors import DaleniusError
from dalenius.testing.asking import plan_of
from dalenius.testing.toy import kit_domain

WORLDS = (((2, 2), Relation.ADD_REMOVE), ((2, 2), Relation.REPLACE), ((2, 3), Relation.ADD_REMOVE))
BUDGETS: tuple[dict[str, Any], ...] = (
    {"definition": "pure", "epsilon": "1/2"},
    {"definition": "zero_concentrated", "rho": "1/8"},
)
LEVELS = [["v0", "v1"], ["v0", "v1.half"], ["v1"], ["v1.odd"], ["v0"], []]
ZEROS = ({"v0": ("a",), "v1": ("d", "e")}, {"v0": ("b",), "v1": ("c",)})
DRAWS = 1500
# The variance of so many draws is known to about five percent; this is four times that.
TOLERANCE = 0.2
Matrix = NDArray[np.float64]


def check(name: str) -> int:
    """Every small table that the strategy serves, under every relation and kind of budget; returns how many."""
    served = 0
    for turn, (domain, asked) in enumerate(_questions()):
        # The kinds of budgets take turns: each meets each relation, flat and along a hierarchy.
        for budget in (BUDGETS[turn % 2], BUDGETS[1 - turn % 2]):
            try:
                plan = plan_of(domain, {"table": asked, "privacy": budget | {"strategy": name}})
            except DaleniusError:
                continue
            assert plan.strategy == name
            check_plan(plan, domain)
            served += 1
            break
    assert served, f"The strategy {name!r} serves no small table."
    return served


def _questions() -> Iterator[tuple[Domain, dict[str, Any]]]:
    """Flat tables, then along a hierarchy: unequal and overlapping groups, a later axis, impossible cells."""
    for shape, relation in WORLDS:
        domain = world(shape, relation)
        yield domain, {"rows": list(domain.variables), "margins": "all"}
    trees = [branching(relation) for relation in Relation]
    for domain in (*trees, replace(branching(Relation.REPLACE), structural_zeros=ZEROS)):
        yield domain, {"rows": list(domain.variables), "margins": LEVELS, "objective": "cells"}


def world(shape: tuple[int, ...], relation: Relation = Relation.ADD_REMOVE) -> Domain:
    """Categorical variables of these sizes, in which no record drops out."""
    domains = [Categories(labels=tuple("abcdefgh"[:size]), missing="a", unseen="a") for size in shape]
    variables = {f"v{i}": Variable(name=f"v{i}", domain=own) for i, own in enumerate(domains)}
    return kit_domain(variables, Neighbours(relation=relation), is_public=True)


def branching(relation: Relation = Relation.ADD_REMOVE) -> Domain:
    """Return a variable of five categories in two groups, and in two others, behind one of two."""
    plain = world((2, 5), relation)
    categories = plain.variable("v1").categories
    levels = (
        Hierarchy(level="half", groups=("low", "high"), parent=(0, 0, 1, 1, 1)),
        Hierarchy(level="odd", groups=("even", "odd"), parent=(0, 1, 0, 1, 0)),
    )
    tree = Variable(name="v1", domain=categories, hierarchies=levels)
    return replace(plain, variables={**plain.variables, "v1": tree})


def check_plan(plan: TablePlan, domain: Domain) -> None:
    """Unbiased values and the dense variances, table by table."""
    probe = _Probe(plan, domain)
    measured = np.array([probe.measured(row) for row in probe.rows]).T
    noise = probe.noise_covariance()
    covariance = np.linalg.pinv(measured.T @ np.linalg.pinv(noise) @ measured)
    for tables in zip(*(probe.shown(row) for row in probe.rows), strict=True):
        table = tables[0]
        truth = np.array([probe.cells(row, table.space) for row in probe.rows]).T
        np.testing.assert_allclose([shown.values for shown in tables], truth.T, atol=1e-8)
        dense = np.diag(truth @ covariance @ truth.T)
        assert np.allclose(table.variance, dense, rtol=TOLERANCE), (
            f"{plan.strategy}: {table.name} is published with variances {table.variance}; least squares gives {dense}"
        )


@dataclass
class _Probe:
    """A plan whose measurements are run with noise that the kit chooses."""

    plan: TablePlan
    domain: Domain

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """One record for each possible cell of the full cross."""
        sizes = [variable.categories.labels for variable in self.domain.variables.values()]
        cells = np.array(np.meshgrid(*sizes)).T.reshape(-1, len(sizes)).tolist()
        return [tuple(cell) for cell in cells if not self._is_impossible(cell)]

    def _is_impossible(self, cell: Sequence[str]) -> bool:
        named = dict(zip(self.domain.variables, cell, strict=True))
        return any(all(named[v] in labels for v, labels in zero.items()) for zero in self.domain.structural_zeros)

    def _source(self, *rows: tuple[str, ...]) -> MemorySource:
        columns = {name: [row[i] for row in rows] for i, name in enumerate(self.domain.variables)}
        return MemorySource(self.domain, columns, b"a secret of the kit")

    def cells(self, row: tuple[str, ...], space: CellSpace) -> Matrix:
        bare = CellSpace(tuple(_whole(self.domain, axis) for axis in space.axes))
        counts = self._source(row).table(TableQuery(space=bare)).open_below_the_gate()
        return counts.astype(np.float64)

    def _blocks(self, drawn: list[Any], *rows: tuple[str, ...]) -> tuple[Block, ...]:
        source, blocks = self._source(*rows), []
        for measurement, noise in zip(self.plan.measurements, drawn, strict=True):
            exact = tuple(source.table(need) for need in measurement.needs)  # type: ignore[arg-type]
            outcome = measurement.run(exact, noise, RecordedRandomness("no coins"))
            assert isinstance(outcome, Value)
            blocks.append(measurement.block(outcome))
        return tuple(blocks)

    def _drawn(self, rng: RecordedRandomness) -> list[Any]:
        return [measurement.draw(rng) for measurement in self.plan.measurements]

    @property
    def _silence(self) -> list[Any]:
        return [_like(drawn, 0) for drawn in self._drawn(RecordedRandomness("shape"))]

    def measured(self, row: tuple[str, ...]) -> Matrix:
        return _values(self._blocks(self._silence, row))

    def shown(self, row: tuple[str, ...]) -> tuple[Table, ...]:
        return self.plan.assemble(self._blocks(self._silence, row))

    def noise_covariance(self) -> Matrix:
        """Of what is measured: independent draws, each with its own variance, through the map of the plan."""
        rng = RecordedRandomness("the noise of the kit")
        draws = np.array([_flat(self._drawn(rng)) for _ in range(DRAWS)])
        shape = self._silence
        units = np.eye(draws.shape[1], dtype=np.int64)
        through = np.array([_values(self._blocks(_filled(shape, list(unit)))) for unit in units]).T
        covariance: Matrix = through @ np.diag(draws.var(axis=0)) @ through.T
        return covariance


def _whole(domain: Domain, axis: Axis) -> Axis:
    if axis.level:
        return axis
    labels = domain.variable(axis.variable).categories.labels
    return Axis(variable=axis.variable, labels=labels, codes=tuple(range(len(labels))))


def _values(blocks: tuple[Block, ...]) -> Matrix:
    return np.concatenate([block.values for block in blocks]).astype(np.float64)


def _like(drawn: Any, value: int) -> Any:
    return [_like(part, value) for part in drawn] if isinstance(drawn, list) else np.full_like(drawn, value)


def _flat(drawn: Any) -> list[int]:
    if isinstance(drawn, list):
        return [value for part in drawn for value in _flat(part)]
    return [int(value) for value in np.ravel(drawn)]


def _filled(shape: Any, values: list[Any]) -> Any:
    """The given numbers in the shape of a draw; takes them from the front of the list."""
    if isinstance(shape, list):
        return [_filled(part, values) for part in shape]
    own = [values.pop(0) for _ in range(np.size(shape))]
    return np.array(own, dtype=np.int64).reshape(np.shape(shape))
