"""Stored lists: one number for one fact through every table, exact variances, and None where a list does not know."""

from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest

from dalenius.algebra import joint
from dalenius.algebra.tabulation import bounds
from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, Categories, CellSpace, Domain, Hierarchy, Variable
from dalenius.core.law import Censored, IntArray, Joint
from dalenius.core.neighbours import Neighbours
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Provenance, Release
from dalenius.core.sealed import Sealed
from dalenius.errors import OtherRows, Unsupported
from dalenius.lists.tables import answer_from_list
from dalenius.plans.margins.plan import plan_list
from dalenius.postprocess import shown_from
from dalenius.spec.canonical import describe_axis

REGIONS = Categories(labels=("r1", "r2", "r3", "r4"), missing="r1", unseen="r1")
COUNTRY = Hierarchy.of("country", {"north": ("r1", "r2"), "south": ("r3", "r4")}, REGIONS)
SEX = Categories(labels=("f", "m"), missing="f", unseen="f")
AGE = Categories(labels=("young", "middle", "old"))
DOMAIN = Domain(
    name="d",
    population="p",
    version="1",
    variables={
        "region": Variable(name="region", domain=REGIONS, hierarchies=(COUNTRY,)),
        "sex": Variable(name="sex", domain=SEX),
        "age": Variable(name="age", domain=AGE),
    },
    neighbours=Neighbours(),
)
FULL = (
    Axis(variable="region", labels=REGIONS.labels, codes=(0, 1, 2, 3)),
    Axis(variable="sex", labels=SEX.labels, codes=(0, 1)),
    Axis(variable="age", labels=AGE.labels, codes=(0, 1, 2)),
)
ASKED = {"axes": [describe_axis(axis, DOMAIN) for axis in FULL], "where": []}
COUNTS = np.random.default_rng(0).integers(0, 50, (4, 2, 3))


def counted(space: CellSpace) -> IntArray:
    """The exact counts of a table over some of the variables, at some level."""
    counts, axes = COUNTS, {axis.variable: axis for axis in space.axes}
    for place, full in reversed(list(enumerate(FULL))):
        axis = axes.get(full.variable)
        codes = [0] * len(full) if axis is None else axis.codes
        groups = [[i for i, code in enumerate(codes) if code == group] for group in range(max(codes) + 1)]
        sums = np.stack([counts.take(members, axis=place).sum(axis=place) for members in groups], axis=place)
        counts = sums if axis is not None else sums.squeeze(axis=place)
    return counts.ravel()


@lru_cache
def planned(strategy: str, budget: Budget, margins: tuple[tuple[str, ...], ...]) -> TablePlan:
    definition = registry.get("definitions", budget.definition)()
    return plan_list(DOMAIN, FULL, margins, (), budget, definition, strategy=strategy)


def stored(strategy: str, budget: Budget, seed: str = "list", margins: list[tuple[str, ...]] | None = None) -> Release:
    shown = tuple(margins or [("region", "sex", "age"), ("region",), ()])
    plan = planned(strategy, budget, shown)
    rng = RecordedRandomness(seed)
    blocks = []
    for step in plan.measurements:
        exact = []
        for query in step.needs:
            exact.append(Sealed(counted(query.space)))  # type: ignore[union-attr]
        block = step.block(step.run(tuple(exact), step.draw(rng), rng))
        assert block is not None
        blocks.append(block)
    provenance = Provenance(
        dataset="d", population="p", version="1", definition=budget.definition, budget=budget.to_dict(), neighbours={},
        cost={"relation": "add-remove", "rho": "1/2", "delta": "0", "epsilon": None}, mechanism="", strategy=strategy,
        evidence={}, software="", request=ASKED, digest="digest",
    )  # fmt: skip
    return Release(blocks=tuple(blocks), tables=plan.assemble(tuple(blocks)), law=plan.law, provenance=provenance)


ZERO = Budget.of("zero_concentrated", rho="1/2")


@pytest.mark.parametrize("strategy", ["interior", "residual", "split"])
def test_the_same_cell_is_the_same_number_through_every_table(strategy: str) -> None:
    release = stored(strategy, ZERO)
    cells = release.tables[0].values.reshape(4, 2, 3)
    by_age = answer_from_list(release, CellSpace((FULL[2], FULL[0])), (), DOMAIN)
    assert by_age is not None
    assert by_age.values == pytest.approx(cells.sum(axis=1).T)
    women = answer_from_list(release, CellSpace((FULL[0],)), (Filter(variable="sex", codes=(0,)), Filter(variable="age", codes=(0, 1, 2))), DOMAIN)  # fmt: skip
    assert women is not None
    assert women.values == pytest.approx(cells[:, 0].sum(axis=1))
    one = answer_from_list(release, CellSpace(()), (Filter(variable="sex", codes=(0,)), Filter(variable="age", codes=(2,)), Filter(variable="region", codes=(3,))), DOMAIN)  # fmt: skip
    assert one is not None
    assert one.table.values[0] == pytest.approx(cells[3, 0, 2])
    assert one.table.variance[0] == pytest.approx(release.tables[0].variance[0])
    assert one.provenance.cost["rho"] == "0"
    again = answer_from_list(release, CellSpace(()), (Filter(variable="age", codes=(2,)), Filter(variable="region", codes=(3,)), Filter(variable="sex", codes=(0,))), DOMAIN)  # fmt: skip
    assert again is not None and again.table.values[0] == one.table.values[0]


def test_coarser_levels_and_recodes_are_sums() -> None:
    release = stored("residual", ZERO)
    cells = release.tables[0].values.reshape(4, 2, 3)
    country = Axis(variable="region", labels=("north", "south"), codes=(0, 0, 1, 1), level="country")
    found = answer_from_list(release, CellSpace((country, FULL[2])), (), DOMAIN)
    assert found is not None
    assert found.values == pytest.approx(np.stack([cells[:2].sum(axis=(0, 1)), cells[2:].sum(axis=(0, 1))]))
    other = Axis(variable="age", labels=("not young",), codes=(-1, 0, 0))
    found = answer_from_list(release, CellSpace((other,)), (), DOMAIN)
    assert found is not None
    assert found.values == pytest.approx([cells[:, :, 1:].sum()])


@pytest.mark.parametrize("strategy", ["interior", "residual", "split"])
def test_variances_of_sums_are_those_of_many_lists(strategy: str) -> None:
    """Statistical: 800 lists, within 18 %; fixed seeds."""
    young = (Filter(variable="age", codes=(0, 2)), Filter(variable="sex", codes=(1,)))
    country = Axis(variable="region", labels=("north", "south"), codes=(0, 0, 1, 1), level="country")
    values = []
    for run in range(800):
        found = answer_from_list(stored(strategy, ZERO, f"{run}"), CellSpace((country,)), young, DOMAIN)
        assert found is not None
        values.append(found.table.values)
    assert np.var(values, axis=0) == pytest.approx(found.table.variance, rel=0.18)
    truth = [COUNTS[:2, 1][:, [0, 2]].sum(), COUNTS[2:, 1][:, [0, 2]].sum()]
    assert np.mean(values, axis=0) == pytest.approx(truth, abs=4 * float((found.table.variance.max() / 800) ** 0.5))


def test_what_the_list_does_not_determine_is_not_answered() -> None:
    release = stored("residual", ZERO, margins=[("region",), ("sex",)])
    assert answer_from_list(release, CellSpace((FULL[0], FULL[1])), (), DOMAIN) is None
    assert answer_from_list(release, CellSpace((FULL[2],)), (), DOMAIN) is None
    coarse = stored("residual", ZERO, margins=[("region", "sex")])
    assert answer_from_list(coarse, CellSpace((FULL[0],)), (Filter(variable="age", codes=(0,)),), DOMAIN) is None


def test_rows_dropped_by_the_list_are_not_lost_silently() -> None:
    """Age drops missing values: a table that does not mention age counts more rows than the list holds."""
    release = stored("residual", ZERO, margins=[("region", "age"), ("region",)])
    with pytest.raises(OtherRows):
        answer_from_list(release, CellSpace((FULL[0],)), (), DOMAIN)
    everybody = (Filter(variable="age", codes=(0, 1, 2)),)
    assert answer_from_list(release, CellSpace((FULL[0],)), everybody, DOMAIN) is not None
    assert answer_from_list(release, CellSpace((FULL[2],)), (), DOMAIN) is not None


def test_plain_tables_are_lists_too() -> None:
    release = stored("interior", Budget.of("pure", epsilon=1), margins=[("region", "sex", "age")])
    found = answer_from_list(release, CellSpace((FULL[2],)), (), DOMAIN)
    assert found is not None
    assert found.table.variance == pytest.approx(8 * release.tables[0].variance[0])
    assert Fraction(found.provenance.cost["rho"]) == 0


def reread(release: Release, **request: object) -> Release:
    """The list as another process reads it: from its document, with the canonical request beside it."""
    from dataclasses import replace

    from dalenius.publish.to_json import from_json, write_json

    noted = replace(release.provenance, request={**release.provenance.request, **request})
    return from_json(write_json(release.with_(provenance=noted)))


def test_a_list_that_was_stored_and_read_answers_the_same() -> None:
    release = stored("residual", ZERO)
    country = Axis(variable="region", labels=("north", "south"), codes=(0, 0, 1, 1), level="country")
    conditions = (Filter(variable="age", codes=(1, 2)),)
    here = answer_from_list(release, CellSpace((country, FULL[1])), conditions, DOMAIN)
    there = answer_from_list(reread(release, where=[]), CellSpace((country, FULL[1])), conditions, DOMAIN)
    assert here is not None and there is not None
    assert there.table.values.tolist() == here.table.values.tolist()
    assert there.table.variance == pytest.approx(here.table.variance)


def test_conditions_of_the_list_must_be_asked_for() -> None:
    stored_where = [{"variable": "sex", "categories": ["f"]}]
    release = reread(stored("residual", ZERO, margins=[("region", "age")]), where=stored_where)
    women, men = Filter(variable="sex", codes=(0,)), Filter(variable="sex", codes=(1,))
    space = CellSpace((FULL[0], FULL[2]))
    assert answer_from_list(release, space, (women,), DOMAIN) is not None
    assert answer_from_list(release, space, (), DOMAIN) is None
    assert answer_from_list(release, space, (men,), DOMAIN) is None


def test_labels_alone_do_not_make_two_recodes_equal() -> None:
    release = stored("residual", ZERO)
    mine = Axis(variable="age", labels=("low", "high"), codes=(0, 0, 1))
    other = Axis(variable="age", labels=("low", "high"), codes=(0, 1, 1))
    first = answer_from_list(release, CellSpace((mine,)), (), DOMAIN)
    second = answer_from_list(release, CellSpace((other,)), (), DOMAIN)
    assert first is not None and second is not None
    assert first.table.values[0] != second.table.values[0]
    coarse = reread(first, axes=[{"variable": "age", "cells": [["low", "young", "middle"], ["high", "old"]]}], where=[])
    assert answer_from_list(coarse, CellSpace((other,)), (), DOMAIN) is None


def test_other_data_and_other_versions_are_not_answered() -> None:
    from dataclasses import replace

    release = stored("residual", ZERO)
    assert answer_from_list(release, CellSpace((FULL[2],)), (), replace(DOMAIN, version="2")) is None


def test_an_adjusted_list_answers_with_sums_of_what_was_shown() -> None:
    from dalenius.postprocess.nonnegative import Nonnegative

    shown = Nonnegative()(stored("residual", Budget.of("zero_concentrated", rho="1/2000")))
    found = answer_from_list(shown, CellSpace((FULL[2],)), (), DOMAIN)
    assert found is not None
    assert found.values == pytest.approx(shown.tables[0].values.reshape(4, 2, 3).sum(axis=(0, 1)))
    assert not found.table.is_unbiased


def test_sums_over_nested_levels_have_the_variance_of_their_covariances() -> None:
    """Several blocks along a hierarchy: the variance of a sum follows from all covariances of the shown cells."""
    release = stored("split", ZERO, margins=[("region", "sex"), ("region.country",)])
    assert isinstance(release.law, Joint) and release.law.structure == "tree" and len(release.blocks) > 1
    covariance = joint.covariance(release, release.tables[0], range(8))
    both = Filter(variable="age", codes=(0, 1, 2))
    total = answer_from_list(release, CellSpace(()), (both,), DOMAIN)
    assert total is not None
    assert total.table.values.tolist() == pytest.approx([release.tables[0].values.sum()])
    assert total.table.variance.tolist() == pytest.approx([covariance.sum()])
    by_sex = answer_from_list(release, CellSpace((FULL[1],)), (both,), DOMAIN)
    assert by_sex is not None
    women = covariance[::2, ::2].sum()
    assert by_sex.table.variance.tolist() == pytest.approx([women, covariance[1::2, 1::2].sum()])
    assert not np.isclose(women, release.tables[0].variance[::2].sum())


def test_cells_of_a_list_under_a_rule_on_small_counts_are_answered_one_by_one() -> None:
    """Hidden counts have no sum; a cell of the list is a cell of the answer, under the same censored law."""
    plain = stored("interior", ZERO, margins=[("region", "sex", "age")])
    law = Censored(plain.blocks[0].law, 5)  # type: ignore[arg-type]
    shown = shown_from(5, plain.with_(law=law))
    one = answer_from_list(shown, CellSpace((FULL[0],)), (Filter(variable="sex", codes=(0,)), Filter(variable="age", codes=(2,))), DOMAIN)  # fmt: skip
    assert one is not None and one.law == law and not one.table.is_unbiased
    assert one.table.values.tolist() == shown.tables[0].values.reshape(4, 2, 3)[:, 0, 2].tolist()
    lower, upper = bounds(one, one.table)
    whole = bounds(shown, shown.tables[0])
    assert lower.tolist() == whole[0].reshape(4, 2, 3)[:, 0, 2].tolist()
    assert upper.tolist() == whole[1].reshape(4, 2, 3)[:, 0, 2].tolist()
    with pytest.raises(Unsupported):
        answer_from_list(shown, CellSpace((FULL[0], FULL[2])), (), DOMAIN)
