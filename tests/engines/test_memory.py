"""The reference engine on known answers."""

import numpy as np
import pytest

from dalenius.core.conditions import Filter
from dalenius.core.domain import CellSpace
from dalenius.core.query import Aggregate, Power, RowFunction, TableQuery, ValuesQuery
from dalenius.engines.memory import MemorySource
from dalenius.errors import NotPublic, RequestError, UnknownName
from dalenius.spec.axis import axis_of
from dalenius.testing.toy import toy_domain, toy_rows

DOMAIN = toy_domain()


def space(*names: str) -> CellSpace:
    return CellSpace(tuple(axis_of(name, DOMAIN) for name in names))


def table(**options: object) -> list[int]:
    query = TableQuery(**options)  # type: ignore[arg-type]
    return MemorySource.open(DOMAIN, toy_rows()).table(query).open_below_the_gate().tolist()


def test_every_declared_cell_comes_back_in_declared_order() -> None:
    # Rows with no sex, or one that was not declared, are dropped; regions that were not declared count as west.
    assert table(space=space("sex", "region")) == [1, 1, 1, 1, 1, 1, 1, 2]
    assert table(space=CellSpace(())) == [12]
    assert table(space=space("sex"), where=(Filter(variable="status", codes=(0,)),)) == [2, 1]


def test_rows_in_structural_zeros_are_outside() -> None:
    axes = space("sex", "status").axes
    assert table(space=CellSpace(axes)) == [2, 2, 1, 1, 3, 1]
    assert table(space=CellSpace(axes, frozenset({(1, 2)}))) == [2, 2, 1, 1, 3, 0]


def test_aggregates_in_steps_of_one_half() -> None:
    women = {"space": space("sex"), "function": RowFunction.of(Power("income"))}
    # 120.5, 80.25 (rounded half to even: 160 steps), -75 clamped to -50, 44, 5.5
    assert table(**women)[0] == 241 + 160 - 100 + 88 + 11
    assert table(shift=10, **women)[0] == 400 - 50
    squares = RowFunction.of(Power("income", exponent=2))
    assert table(space=space("sex"), function=squares)[0] == 241**2 + 160**2 + 100**2 + 88**2 + 11**2
    assert table(aggregate=Aggregate.MINIMUM, **women)[0] == -100
    assert table(aggregate=Aggregate.MAXIMUM, **women) == [241, 2000]
    assert table(aggregate=Aggregate.LARGEST_ABSOLUTE, **women)[0] == 241
    # The man without an income counts as 0, the infinite income as 1000; 12.75 is halfway and goes to 26 steps.
    assert (
        table(space=CellSpace(()), function=RowFunction.of(Power("income")))[0]
        == 400 + 2000 + 0 + 26 + 0 + 2000 + 0 + 620
    )


def test_extremes_of_empty_cells_are_the_bounds() -> None:
    age, where = RowFunction.of(Power("age")), (Filter(variable="age", low=99),)
    nobody = {"space": CellSpace(()), "function": age, "where": where}
    assert table(aggregate=Aggregate.MINIMUM, **nobody) == [100]
    assert table(aggregate=Aggregate.MAXIMUM, **nobody) == [0]
    assert table(aggregate=Aggregate.LARGEST_ABSOLUTE, **nobody) == [0]


def test_values() -> None:
    source = MemorySource.open(DOMAIN, toy_rows())
    ages = source.values(ValuesQuery(value="age")).open_below_the_gate()
    # 101 and -1 lie outside and are dropped, as is the missing one.
    assert ages.tolist() == [18, 34, 34, 35, 44, 51, 51, 70, 88]


def test_a_person_counts_with_at_most_the_declared_rows() -> None:
    domain = toy_domain(unit_id="person", max_rows=1)
    source = MemorySource.open(domain, toy_rows(), secret=b"s")
    report = source.judge()
    # Three rows of p1 and two of p2 are over by two and one; one row has no person.
    assert (report["rows"], report["rows_kept"]) == (12, 8)
    assert (report["rows_over_max"], report["rows_without_unit"]) == (3, 1)
    assert source.table(TableQuery(space=CellSpace(()))).open_below_the_gate().tolist() == [8]


def test_one_person_more_does_not_move_the_others() -> None:
    domain = toy_domain(unit_id="person", max_rows=2)
    rows = toy_rows()
    others = [row for row in rows if row["person"] != "p2"]
    newcomer = [row for row in rows if row["person"] == "p2"]

    def coded(data: list[dict[str, object]]) -> list[tuple[int, ...]]:
        batch = next(iter(MemorySource.open(domain, data, secret=b"s").scan(list(domain.variables))))
        return sorted(zip(*(batch[name].tolist() for name in domain.variables), strict=True))

    before, after = coded(others), coded(newcomer + others)
    for row in before:
        after.remove(row)
    assert len(after) == 2


def test_the_custodians_report() -> None:
    report = MemorySource.open(DOMAIN, toy_rows()).judge()
    assert report["rows_in_structural_zeros"] == 1
    assert report["variables"]["sex"] == {"valid": 10, "missing": 1, "unseen": 1, "outside": 0, "unreadable": 0}
    assert report["variables"]["age"]["outside"] == 2
    assert report["variables"]["income"]["missing"] == 2
    assert report["variables"]["income"]["outside"] == 3


def test_answers_are_sealed() -> None:
    sealed = MemorySource.open(DOMAIN, toy_rows()).table(TableQuery(space=CellSpace(())))
    assert "12" not in repr(sealed)
    with pytest.raises(NotPublic):
        np.asarray(sealed)


def test_what_is_not_a_table_is_refused() -> None:
    with pytest.raises(UnknownName, match="column"):
        MemorySource.open(DOMAIN, {"sex": ["female"]})
    with pytest.raises(RequestError, match="received int"):
        MemorySource.open(DOMAIN, 3)
    with pytest.raises(RequestError, match="same length"):
        MemorySource.open(DOMAIN, {"sex": [1], "region": [], "status": [], "age": [], "income": []})
