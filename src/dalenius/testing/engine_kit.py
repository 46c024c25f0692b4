"""The kit that every engine must pass: equal to the memory engine, call by call, on any data.

An engine's test gives a factory `(domain, columns, secret) -> Source`; the functions here raise `AssertionError`
with what differed. They open sealed values, which only tests may do.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalenius.core.contracts import Source
from dalenius.core.domain import Domain
from dalenius.core.query import TableQuery, ValuesQuery
from dalenius.engines.memory import MemorySource

Columns = Mapping[str, Sequence[Any]]
Factory = Callable[[Domain, Columns, bytes], Source]
SECRET = b"a secret of the conformance kit"


def check_table(factory: Factory, domain: Domain, columns: Columns, query: TableQuery) -> None:
    """One table query, cell by cell."""
    expected = MemorySource(domain, columns, SECRET).table(query).open_below_the_gate()
    received = factory(domain, columns, SECRET).table(query).open_below_the_gate()
    assert received.dtype == np.int64
    assert received.shape == (query.space.size,)
    np.testing.assert_array_equal(received, expected)


def check_values(factory: Factory, domain: Domain, columns: Columns, query: ValuesQuery) -> None:
    """One query for sorted values."""
    expected = MemorySource(domain, columns, SECRET).values(query).open_below_the_gate()
    received = factory(domain, columns, SECRET).values(query).open_below_the_gate()
    np.testing.assert_array_equal(received, expected)


def check_scan(factory: Factory, domain: Domain, columns: Columns) -> None:
    """All coded rows, as a multiset: engines may read in any order."""
    names = list(domain.variables)
    found = [
        sorted(zip(*(np.concatenate([b[n] for b in batches]).tolist() for n in names), strict=True))
        for batches in (
            list(source.scan(names))
            for source in (MemorySource(domain, columns, SECRET), factory(domain, columns, SECRET))
        )
        if batches
    ]
    if len(found) == 2:
        assert found[1] == found[0]
    else:
        # An engine may yield no batch at all where there is no row.
        assert all(not rows for rows in found)


def check_judgement(factory: Factory, domain: Domain, columns: Columns) -> None:
    """The custodian's report."""
    expected = MemorySource(domain, columns, SECRET).judge()
    received = factory(domain, columns, SECRET).judge()
    assert dict(received) == dict(expected)


def check_fingerprint(factory: Factory, domain: Domain, columns: Columns, changed: Columns) -> None:
    """Stable, keyed, and different for changed content."""
    first = factory(domain, columns, SECRET).fingerprint(b"key")
    assert factory(domain, columns, SECRET).fingerprint(b"key") == first
    assert factory(domain, columns, SECRET).fingerprint(b"other key") != first
    assert factory(domain, changed, SECRET).fingerprint(b"key") != first
