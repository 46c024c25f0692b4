"""Releases for tests of adjustments: independent noisy tables of one population."""

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import Additive
from dalenius.core.release import Block, Provenance, Release, Table
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

Maker = Callable[..., Release]


def space_of(names: Sequence[str], sizes: dict[str, int], zeros: frozenset[tuple[int, ...]] = frozenset()) -> CellSpace:
    return CellSpace(
        tuple(
            Axis(variable=n, labels=tuple(f"{n}{k}" for k in range(sizes[n])), codes=tuple(range(sizes[n])))
            for n in names
        ),
        zeros,
    )


@pytest.fixture
def make() -> Maker:
    def made(
        tables: dict[tuple[str, ...], np.ndarray],
        variance: float = 2.0,
        population: str = "people",
        where: object = None,
        zeros: dict[tuple[str, ...], set[tuple[int, ...]]] | None = None,
        measure: str = "count",
        request: dict[str, object] | None = None,
        **about: str,
    ) -> Release:
        sizes = {n: s for names, a in tables.items() for n, s in zip(names, np.shape(a), strict=True)}
        law = Additive(DiscreteLaplace(Fraction(1)))
        shown, blocks = [], []
        for names, array in tables.items():
            values = np.asarray(array, dtype=float).ravel()
            space = space_of(names, sizes, frozenset((zeros or {}).get(names, ())))
            name = " x ".join(names) or "total"
            spread = np.full(len(values), variance)
            for index in space.structural_indices:
                values[index] = spread[index] = 0
            shown.append(Table(name=name, space=space, values=values, variance=spread, measure=measure))
            blocks.append(Block(name=name, space=space, values=np.rint(values).astype(np.int64), law=law))
        provenance = Provenance(
            dataset=about.get("dataset", "d"), population=population, version=about.get("version", "1"),
            definition="pure", budget={}, neighbours={}, cost={}, mechanism="", strategy="", evidence={}, software="",
            request={"where": where, **(request or {})}, digest="abc", guarantee="Pure.",
        )  # fmt: skip
        return Release(blocks=tuple(blocks), tables=tuple(shown), law=law, provenance=provenance)

    return made
