"""Partitions and groups: known answers, then properties."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.core.budget import Cost
from dalenius.core.conversions import pure_to_rho
from dalenius.core.neighbours import Relation
from dalenius.errors import ParameterError, Unsupported
from dalenius.ledger.composition import in_sequence
from dalenius_lab.accounting.composition import PartitionPart, for_group, in_parallel


def pure(epsilon: object, relation: Relation = Relation.ADD_REMOVE) -> Cost:
    exact = Fraction(str(epsilon))
    return Cost(relation=relation, rho=pure_to_rho(exact), epsilon=exact)


pure_costs = st.builds(pure, st.fractions(min_value=0, max_value=2, max_denominator=100))


def test_parallel_takes_the_largest_under_add_remove():
    parts = [PartitionPart(add_remove=pure(e)) for e in ("0.5", "1", "0.25")]
    whole = in_parallel(parts, Relation.ADD_REMOVE, is_fixed_in_advance=True)
    assert whole == pure(1)


def test_two_parts_are_touched_under_replace():
    # A histogram inside the first part costs 2 under replace, more than the two largest parts together.
    parts = [PartitionPart(add_remove=pure(1)), PartitionPart(add_remove=pure("0.5"))]
    whole = in_parallel(parts, Relation.REPLACE, is_fixed_in_advance=True)
    assert whole.epsilon == 2
    # Where the step inside a part is known to cost no more under replace, leaving one part for another counts.
    known = [PartitionPart(add_remove=pure(1), replace=pure(1, Relation.REPLACE)) for _ in range(3)]
    known[2] = PartitionPart(add_remove=pure("0.75"), replace=pure("0.75", Relation.REPLACE))
    assert in_parallel(known, Relation.REPLACE, is_fixed_in_advance=True).epsilon == 2
    known[1] = known[2]
    assert in_parallel(known, Relation.REPLACE, is_fixed_in_advance=True).epsilon == Fraction(7, 4)


def test_the_replace_rule_against_every_pair_of_parts():
    """Brute force: two independent counts with randomised-response-like loss, one record moves anywhere."""
    from itertools import product

    parts = [Fraction(1, 2), Fraction(1), Fraction(1, 3)]
    losses = []
    for source, target in product(range(3), repeat=2):
        moved = [Fraction(0)] * 3
        moved[source] += parts[source]
        moved[target] += parts[target]
        losses.append(sum(moved))
    whole = in_parallel([PartitionPart(add_remove=pure(e)) for e in parts], Relation.REPLACE, is_fixed_in_advance=True)
    assert whole.epsilon == max(losses)


def test_partitions_that_look_at_data_are_refused():
    with pytest.raises(Unsupported):
        in_parallel([PartitionPart(add_remove=pure(1))], Relation.ADD_REMOVE, is_fixed_in_advance=False)
    with pytest.raises(Unsupported):
        PartitionPart(add_remove=pure(1, Relation.REPLACE))
    with pytest.raises(ParameterError):
        in_parallel([], Relation.ADD_REMOVE, is_fixed_in_advance=True)


@given(st.lists(pure_costs, min_size=1, max_size=6))
def test_parallel_lies_between_the_largest_part_and_the_sum(items):
    parts = [PartitionPart(add_remove=item) for item in items]
    whole = in_parallel(parts, Relation.ADD_REMOVE, is_fixed_in_advance=True)
    assert all(item.fits(whole) for item in items)
    assert whole.fits(in_sequence(items))
    replaced = in_parallel(parts, Relation.REPLACE, is_fixed_in_advance=True)
    assert whole.rho <= replaced.rho <= 4 * whole.rho
    assert whole.epsilon <= replaced.epsilon <= 2 * whole.epsilon


@given(pure_costs, st.integers(1, 6), st.integers(1, 6))
def test_groups_grow(cost, size, more):
    assert for_group(cost, 1) == cost
    group = for_group(cost, size)
    assert group.fits(for_group(cost, size + more))
    assert for_group(group, more) == for_group(cost, size * more)


def test_groups_with_failures_are_refused():
    with pytest.raises(Unsupported):
        for_group(Cost(relation=Relation.ADD_REMOVE, rho=Fraction(1, 10), delta=Fraction(1, 10**6)), 2)
