"""What a measurement refuses by itself, whoever made the plan: each case changes one thing of a step that is accepted."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dalenius.algebra.ranks import WholeList
from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.conversions import rho_to_delta
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import Kernel
from dalenius.core.neighbours import Neighbours, Relation, Scope
from dalenius.core.query import LabelsQuery, TableQuery, ValuesQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.errors import DaleniusError, DocumentError, ParameterError, TooLarge, UnknownName, Unsupported
from dalenius.measurements import hellinger
from dalenius.measurements._example import CELLS, TOTALS
from dalenius.measurements.blocks.blocks import Blocks
from dalenius.measurements.fourier import Fourier
from dalenius.measurements.hellinger import Hellinger, HellingerParameters
from dalenius.measurements.noisy import Noisy
from dalenius.measurements.perturbation_table import PerturbationTable, PerturbationTableParameters
from dalenius.measurements.sampled_count import SampledCount
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.statistics.quantile import Quantile

ANY, ONE_FOR_ONE = Neighbours(), Neighbours(relation=Relation.REPLACE)
PERSONS = Neighbours(unit="person", max_rows=2)
AT = Neighbours(relation=Relation.REPLACE, scope=Scope.ACTUAL_DATA)
WITHIN = Neighbours(relation=Relation.REPLACE, scope=Scope.OBSERVED_ROWS)
IMPOSSIBLE = replace(CELLS, structural_zeros=frozenset({(0,), (1,)}))
MANY = CellSpace((Axis(variable="g", labels=tuple(map(str, range(600)))),))


def step_of(name: str, neighbours: Neighbours) -> Any:
    """A step that the measurement itself gives as its example."""
    return registry.get("measurements", name).examples(neighbours)[0].step


def persons(neighbours: Neighbours) -> Neighbours:
    return replace(neighbours, unit="person", max_rows=2)


@pytest.mark.parametrize(
    ("name", "neighbours", "wrong", "error"),
    [
        ("local_laplace", AT, {"group": 0}, ParameterError),
        ("local_laplace", AT, {"epsilon": Fraction(0)}, ParameterError),
        ("local_laplace", AT, {"neighbours": ONE_FOR_ONE}, Unsupported),
        ("local_laplace", WITHIN, {"group": 2}, Unsupported),
        ("propose_test_release", ANY, {"bound": 0}, ParameterError),
        ("propose_test_release", ANY, {"delta": Fraction(0)}, ParameterError),
        ("propose_test_release", ANY, {"neighbours": PERSONS}, Unsupported),
        ("cascade", ANY, {"delta": Fraction(1)}, ParameterError),
        ("data_dependent_selection", WITHIN, {"neighbours": persons(WITHIN)}, Unsupported),
        ("data_dependent_selection", WITHIN, {"floor": 0}, ParameterError),
        ("bootstrap_totals", WITHIN, {"neighbours": persons(WITHIN)}, Unsupported),
        ("clipped_totals", ANY, {"bounds": (1,)}, ParameterError),
        ("grid_selection", ANY, {"targets": WholeList(qs=(Fraction(1),))}, ParameterError),
        ("grid_selection", ANY, {"queries": ()}, ParameterError),
        ("grid_selection", ANY, {"space": MANY}, TooLarge),
        ("exponential_selection", ANY, {"query": TableQuery(space=IMPOSSIBLE)}, Unsupported),
        ("exponential_selection", ANY, {"statistic": replace(TOTALS, low=0, high=0)}, Unsupported),
        ("label_selection", ANY, {"query": LabelsQuery(variable="text", most=0)}, ParameterError),
        ("perturbation_table", ANY, {"kernel": Kernel("k", (0,), ((1, 2),), 4)}, DocumentError),
        ("perturbation_table", ANY, {"kernel": Kernel("k", (0,), ((1 << 63,),), 1 << 63)}, DocumentError),
    ],
)
def test_what_no_step_can_keep_is_refused_when_it_is_made(
    name: str, neighbours: Neighbours, wrong: dict[str, Any], error: type[DaleniusError]
) -> None:
    step = step_of(name, neighbours)
    with pytest.raises(error):
        replace(step, **wrong)


@pytest.mark.parametrize(
    ("name", "neighbours", "other"),
    [
        ("local_laplace", AT, persons(AT)),
        ("local_laplace", AT, WITHIN),
        ("smooth", ANY, ONE_FOR_ONE),
        ("propose_test_release", ANY, PERSONS),
        ("range_query", ANY, PERSONS),
        ("unbounded_quantile", ANY, PERSONS),
        ("label_selection", ANY, PERSONS),
    ],
)
def test_a_step_is_priced_for_no_other_neighbours_than_it_protects(
    name: str, neighbours: Neighbours, other: Neighbours
) -> None:
    step = step_of(name, neighbours)
    assert step.profile(neighbours).cost().rho > 0
    with pytest.raises(Unsupported):
        step.profile(other)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"model": "guess"}, UnknownName),
        ({"correction": "guess"}, UnknownName),
        ({"upper": Fraction(0)}, ParameterError),
        ({"count": 1}, ParameterError),
    ],
)
def test_blocks_are_refused_by_what_is_wrong(wrong: dict[str, Any], error: type[DaleniusError]) -> None:
    right: dict[str, Any] = {"model": "median", "count": 2, "lower": Fraction(0), "upper": Fraction(1)}
    Blocks(**right)
    with pytest.raises(error):
        Blocks(**right | wrong)


def test_tables_of_noise_need_an_epsilon_and_something_to_protect(monkeypatch: pytest.MonkeyPatch) -> None:
    rho = Budget(definition="zero_concentrated", rho=Fraction(1))
    pure = Budget(definition="pure", epsilon=Fraction(1))
    query, stated = TableQuery(space=CELLS), HellingerParameters(largest=4)
    assert Hellinger.of_counts("h", query, stated, pure, ANY).epsilon == 1
    nominal = HellingerParameters(largest=4, epsilon=Fraction(2))
    assert Hellinger.of_counts("h", query, nominal, rho, ANY).epsilon == 2
    assert Hellinger.of_counts("h", query, stated, pure, ONE_FOR_ONE).epsilon == Fraction(1, 2)
    with pytest.raises(ParameterError, match="needs epsilon"):
        Hellinger.of_counts("h", query, stated, rho, ANY)
    with pytest.raises(Unsupported, match="do not depend"):
        Hellinger.of_counts("h", TableQuery(space=IMPOSSIBLE), stated, pure, ANY)
    table = PerturbationTableParameters(table="i,j,p\n0,0,1\n")
    with pytest.raises(ParameterError, match="judged at an epsilon"):
        PerturbationTable.of_counts("p", query, table, rho, ANY)
    monkeypatch.setattr(hellinger, "_MOST_ENTRIES", 10)
    with pytest.raises(TooLarge):
        hellinger.hellinger_rows(Fraction(7, 5), 3, 9)


def test_structural_zeros_of_a_sampled_count_get_no_noise() -> None:
    query = TableQuery(space=replace(CELLS, structural_zeros=frozenset({(1,)})))
    step = SampledCount("s", query, DiscreteLaplace(Fraction(1, 50)), Fraction(1, 2))
    noise = [step.draw(RecordedRandomness(str(seed))) for seed in range(20)]
    assert {int(drawn[1]) for drawn in noise} == {0} != {int(drawn[0]) for drawn in noise}


def test_prices_of_fourier_coefficients_are_added_upwards() -> None:
    """Of Laplace noise also as a pure loss, of Gaussian noise as rho alone; long fractions are rounded up."""
    for law, is_pure in ((DiscreteLaplace(Fraction(1)), True), (DiscreteGaussian(Fraction(4)), False)):
        step = Fourier("f", CELLS.axes, (), {(): law, (0,): law})
        assert (step.profile(ANY).epsilon is not None) is is_pure
    long = {(): DiscreteGaussian(Fraction(3**200, 2**310)), (0,): DiscreteGaussian(Fraction(5**140, 2**320))}
    exact = sum(1 / (2 * law.sigma_squared) for law in long.values())
    rho = Fourier("f", CELLS.axes, (), long).profile(ANY).rho
    assert rho is not None and exact <= rho <= exact * (1 + Fraction(1, 10**60))


def test_additive_noise_is_for_tables_and_has_the_evidence_of_its_mechanism() -> None:
    law = DiscreteLaplace(Fraction(1))
    with pytest.raises(Unsupported, match="table of integers"):
        Noisy("n", Quantile(query=ValuesQuery(value="x"), low=0, high=9), law)  # type: ignore[arg-type]
    assert step_of("noisy", ANY).evidence == law.evidence


def test_the_curve_of_residual_components_is_no_more_than_rho_allows() -> None:
    small = step_of("residual", ANY)
    step = replace(small, has_curve=True, grid={part: 100 * variance for part, variance in small.grid.items()})
    profile = step.profile(ANY)
    assert profile.rho is not None and profile.curve is not None
    for epsilon in (Fraction(1, 2), Fraction(2)):
        assert 0 < profile.curve(epsilon) < rho_to_delta(profile.rho, epsilon)


def test_replicates_of_a_variable_called_replicate_have_a_name_of_their_own() -> None:
    step = step_of("resampled_totals", ANY)
    named = replace(step.space, axes=(replace(step.space.axes[0], variable="replicate"), *step.space.axes[1:]))
    assert replace(step, space=named).whole_space.axes[-1].name == "replicate_"
    assert step.whole_space.axes[-1].name == "replicate"
