"""Which rows of a person count."""

from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv

from dalenius.core.domain import Bounds, Categories, Domain, Variable
from dalenius.core.neighbours import Neighbours
from dalenius.engines import _contribution, _people, _row_choice, _row_hash
from dalenius.engines._columns import Factored
from dalenius.engines._contribution import code_type, kept, kept_rows
from dalenius.engines._people import people_of
from dalenius.engines._person_words import digit_words, person_word, text_words
from dalenius.engines.duckdb import DuckDBSource
from dalenius.engines.memory import MemorySource

ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=8)


@cache
def domain_of(most: int, sizes: tuple[int, ...] = (3, 3), numbers: int = 0) -> Domain:
    variables = {
        f"v{i}": Variable(name=f"v{i}", domain=Categories(labels=tuple(map(str, range(size)))))
        for i, size in enumerate(sizes)
    }
    for i in range(numbers):
        bounds = Bounds(lower=Fraction(-(2**40)), upper=Fraction(2**40))
        variables[f"n{i}"] = Variable(name=f"n{i}", domain=bounds)
    neighbours = Neighbours(unit="person", max_rows=most)
    return Domain(
        name="d", population="p", version="1", variables=variables, neighbours=neighbours, unit_id="id"
    )  # fmt: skip


@settings(max_examples=100, deadline=None, derandomize=True)
@given(rows=ROWS, most=st.integers(1, 4), random=st.randoms(use_true_random=False))
def test_the_choice_is_a_function_of_the_persons_rows(rows, most, random) -> None:
    """Positions do not matter: in any order the same contents stay."""
    domain = domain_of(most)
    first = sorted(rows[i] for i in kept(domain, b"s", "p", list(enumerate(rows))))
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert sorted(shuffled[i] for i in kept(domain, b"s", "p", list(enumerate(shuffled)))) == first
    assert len(first) == min(most, len(rows))


def test_the_secret_and_the_person_decide() -> None:
    rows, domain = [(i, [i]) for i in range(50)], domain_of(10, sizes=(50,))
    assert kept(domain, b"s", "p", rows) != kept(domain, b"t", "p", rows)
    assert kept(domain, b"s", "p", rows) != kept(domain, b"s", "q", rows)


def test_the_rule_never_changes() -> None:
    """Known answers: a registered version counts the same rows for ever."""
    rows = [(i, [i % 3, i]) for i in range(9)]
    assert kept(domain_of(4, sizes=(3, 9)), b"secret", "p1", rows) == [0, 4, 5, 7]
    assert kept(domain_of(3, sizes=(200,)), b"s", "Zoë", [(i, [i]) for i in range(12)]) == [4, 5, 7]


def expected_of(domain, secret, columns, persons):
    stay = []
    matrix = list(zip(*(column.tolist() for column in columns.values()), strict=True))
    for person in {p for p in persons if p is not None}:
        mine = [(i, matrix[i]) for i, who in enumerate(persons) if who == person]
        stay += kept(domain, secret, str(person), mine)
    return sorted(stay)


PERSONS = st.one_of(
    st.lists(st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([10**18, -(2**63)])), max_size=30),
    st.lists(st.one_of(st.none(), st.sampled_from(["", "a", "12", "-0", "Zoë", "a" * 300])), max_size=30),
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(persons=PERSONS, most=st.integers(1, 3), seed=st.integers(0, 9))
def test_whole_columns_equal_person_by_person(persons, most, seed) -> None:
    domain = domain_of(most, sizes=(3, 300, 40_000), numbers=2)
    rng = np.random.default_rng(seed)
    tops = {"v0": 3, "v1": 300, "v2": 40_000, "n0": 2, "n1": 2**40}
    columns = {
        name: rng.integers(-1, top, len(persons)).astype(code_type(domain.variable(name))) for name, top in tops.items()
    }
    kind = pa.string() if any(isinstance(p, str) for p in persons) else pa.int64()
    half = len(persons) // 2
    chunks = [pa.array(persons[:half], kind), pa.array(persons[half:], kind)]
    people = people_of(chunks)
    keep = kept_rows(domain, b"s", columns, people)
    assert np.flatnonzero(keep).tolist() == expected_of(domain, b"s", columns, persons)
    assert people.count() == len({p for p in persons if p is not None})


def test_many_persons_in_several_stretches_equal_one_by_one(monkeypatch) -> None:
    monkeypatch.setattr(_people, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(_contribution, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(_row_choice, "_ROWS_OF_GROUP", 7)
    rng = np.random.default_rng(5)
    domain, persons = domain_of(2, sizes=(400,)), rng.integers(0, 60, 400).tolist()
    columns = {"v0": rng.permutation(400).astype(np.int16)}
    keep = kept_rows(domain, b"s", columns, people_of([pa.array(persons)]))
    assert np.flatnonzero(keep).tolist() == expected_of(domain, b"s", columns, persons)


def test_persons_that_the_first_bits_do_not_tell_apart_are_told_apart_by_their_numbers(monkeypatch) -> None:
    """With a factor of 1 the high bits of small numbers are all zero."""
    rng = np.random.default_rng(6)
    domain, persons = domain_of(2, sizes=(300,)), rng.integers(0, 60, 300).tolist()
    columns = {"v0": rng.permutation(300).astype(np.int16)}
    monkeypatch.setattr(_row_hash, "_odd", lambda secret, place: 1)
    keep = kept_rows(domain, b"s", columns, people_of([pa.array(persons)]))
    assert np.flatnonzero(keep).tolist() == expected_of(domain, b"s", columns, persons)


def test_of_equal_rows_at_the_bound_as_many_stay_as_may() -> None:
    rng = np.random.default_rng(7)
    domain, persons = domain_of(3, sizes=(2,)), rng.integers(0, 50, 400).tolist()
    columns = {"v0": rng.integers(0, 2, 400).astype(np.int8)}
    keep = kept_rows(domain, b"s", columns, people_of([pa.array(persons)]))
    stay = expected_of(domain, b"s", columns, persons)
    owners = np.array(persons)
    assert sorted(zip(owners[keep], columns["v0"][keep], strict=True)) == sorted(
        zip(owners[stay], columns["v0"][stay], strict=True)
    )
    assert np.bincount(owners[keep]).max() == 3


@pytest.mark.parametrize("texts", [["", "a", ""], ["ab", "", ""], [""], ["Zoë", "b" * 99], []])
def test_words_of_many_persons_equal_the_word_of_each(texts) -> None:
    words = text_words(pa.array(["before", *texts], pa.string())[1:])
    assert words.tolist() == [person_word(text.encode()) for text in texts]


def test_words_of_whole_numbers_are_the_words_of_their_digits() -> None:
    ends = [sign * 10**k + step for k in range(19) for step in (-1, 0, 1) for sign in (-1, 1)]
    numbers = np.array([*ends, 10_203, 100_000_001, 2**63 - 1, -(2**63)], dtype=np.int64)
    assert digit_words(numbers).tolist() == [person_word(str(n).encode()) for n in numbers.tolist()]
    assert digit_words(np.array([-7, 0, 12], dtype=np.int16)).tolist() == digit_words(np.array([-7, 0, 12])).tolist()


def test_every_row_of_a_person_has_the_same_chance() -> None:
    """Over 6,000 persons with rows 0 to 5 each row stays in a sixth of them; six sigmas are 0.029."""
    domain = domain_of(1, sizes=(6,))
    columns = {"v0": np.tile(np.arange(6, dtype=np.int8), 6_000)}
    people = people_of([pa.array(np.repeat(np.arange(6_000), 6))])
    keep = kept_rows(domain, b"a secret", columns, people)
    shares = np.bincount(columns["v0"][keep], minlength=6) / people.count()
    assert np.abs(shares - 1 / 6).max() < 0.029


@pytest.mark.parametrize("sizes", [(), (9,), (3, 300, 40_000), (40_000,) * 5])
@pytest.mark.parametrize("numbers", [0, 2])
def test_hashes_of_whole_columns_are_those_of_single_rows(sizes, numbers) -> None:
    """Contents of no word, of part of one and of several; dropped values, and persons by number, by long number and by text."""
    domain, rng = domain_of(1, sizes=sizes, numbers=numbers), np.random.default_rng(8)
    row_hash = _row_hash.RowHash(domain, b"s")
    columns = [rng.integers(-1, size, 40).astype(code_type(domain.variable(f"v{i}"))) for i, size in enumerate(sizes)]
    columns += [np.append(rng.integers(-(2**40), 2**40, 39), -(2**63)) for _ in range(numbers)]
    persons = np.array([*range(-18, 18), 10**18 - 1, 10**18, -(10**18), 2**63 - 1])
    rows = list(zip(*(column.tolist() for column in columns), strict=True)) or [()] * 40
    expected = [row_hash.of(str(person), row) for person, row in zip(persons.tolist(), rows, strict=True)]
    contents = row_hash.contents(columns, 40)
    for words in (
        _row_hash.numbers_of_digits(persons),
        _row_hash.numbers_of_texts(pa.array([str(person) for person in persons.tolist()])),
    ):
        assert row_hash.of_rows(words, contents).tolist() == expected


def test_rows_that_fit_into_one_word_hash_alike_exactly_if_they_are_equal() -> None:
    domain = domain_of(1, sizes=(11, 21, 10))
    row_hash = _row_hash.RowHash(domain, b"s")
    columns = np.meshgrid(np.arange(-1, 11), np.arange(-1, 21), np.arange(-1, 10), indexing="ij")
    contents = row_hash.contents([column.ravel().astype(np.int8) for column in columns], 12 * 22 * 11)
    assert contents.dtype == np.uint16
    hashes = row_hash.of_rows(np.full(len(contents), 5, dtype=np.uint64), contents)
    assert len(set(hashes.tolist())) == 12 * 22 * 11


def test_pairs_of_rows_of_neighbouring_persons_are_chosen_independently() -> None:
    """Of persons 0 to 19,999 with the same four rows: the rows that stay of one and of the next, 16 pairs; six sigmas are 0.011."""
    domain = domain_of(1, sizes=(4,))
    columns = {"v0": np.tile(np.arange(4, dtype=np.int8), 20_000)}
    keep = kept_rows(domain, b"a secret", columns, people_of([pa.array(np.repeat(np.arange(20_000), 4))]))
    stay = columns["v0"][keep].astype(np.int64)
    shares = np.bincount(4 * stay[:-1] + stay[1:], minlength=16) / (len(stay) - 1)
    assert np.abs(shares - 1 / 16).max() < 0.011


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    sizes=st.lists(st.integers(1, 9), max_size=20),
    most=st.integers(1, 3),
    few=st.integers(1, 6),
    shift=st.sampled_from([0, 53, 61]),
    bits=st.sampled_from([(22, 10), (3, 2), (1, 31)]),
)
def test_rows_that_stay_are_those_of_smallest_hash(sizes, most, few, shift, bits) -> None:
    """Also where first bits of persons' products or of hashes, or whole hashes, are equal; as masks and as contents."""
    rng = np.random.default_rng(len(sizes))
    owners = rng.permutation(np.repeat(np.arange(len(sizes)), sizes)).astype(np.int64)
    hashes = rng.integers(0, few, len(owners)).astype(np.uint64) << np.uint64(shift)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_row_choice, "_PERSON_BITS", bits[0])
        patch.setattr(_row_choice, "_HASH_BITS", bits[1])
        patch.setattr(_row_choice, "_ROWS_OF_CHUNK", 8)
        by_mask, by_content = (
            _row_choice.RowChoice(most, 0x9E3779B97F4A7C15, lambda _, contents: contents) for _ in range(2)
        )
        by_mask.add(owners, hashes)
        by_content.add(owners, hashes, has_order=False)
        stay = np.concatenate(list(by_mask.masks()))
        parts = list(by_content.kept(has_persons=True))
    assert by_mask.persons == by_content.persons == len(sizes)
    kept = [pair for part, who in parts for pair in zip(who.tolist(), part.tolist(), strict=True)]
    for owner in range(len(sizes)):
        expected = sorted(hashes[owners == owner].tolist())[:most]
        assert sorted(hashes[stay & (owners == owner)].tolist()) == expected
        assert sorted(h for who, h in kept if who == owner) == expected


def test_persons_and_rows_without_one_are_counted() -> None:
    rows = _contribution.CountingRows(domain_of(1, sizes=(2,)), b"s")
    for persons, present in (([1, 2, 1], None), ([7, 3], np.array([False, True]))):
        rows.add(np.array(persons), [np.zeros(len(persons), dtype=np.int8)], present)
    assert [int(mask.sum()) for mask in rows.masks()] == [2, 1]
    assert rows.sizes == (3, 1)


@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.float64()])
def test_rows_of_nobody_are_dropped(kind) -> None:
    people, columns = people_of([pa.array([None, None], kind)]), {"v0": np.zeros(2, dtype=np.int8)}
    assert kept_rows(domain_of(1, sizes=(3,)), b"s", columns, people).tolist() == [False, False]


def test_persons_are_told_apart_by_their_canonical_text() -> None:
    """0.0 and -0.0 print alike and are one person; NaN and NULL are nobody."""
    people = people_of([pa.array([0.0, -0.0, float("nan"), None, 1.5])])
    assert people.present is not None
    assert people.present.tolist() == [True, True, False, False, True]
    assert people.numbers[0] == people.numbers[1] != people.numbers[4]
    assert people.texts(people.numbers[[0, 4]]).to_pylist() == ["0", "1.5"]


@pytest.mark.parametrize(("size", "numbers"), [(500, 0), (500, 2), (0, 1)])
def test_every_engine_and_form_of_the_file_chooses_the_same_rows(size, numbers, tmp_path, monkeypatch) -> None:
    """Whole numbers in Parquet (in chunks), their digits as text, and lists in memory; some rows without a person.

    Codes of a row fit into part of a word, need several, or fill one.
    """
    monkeypatch.setattr(_row_choice, "_ROWS_OF_CHUNK", 150)
    monkeypatch.setattr(_row_choice, "_ROWS_OF_GROUP", 50)
    rng = np.random.default_rng(9)
    persons = [None if i % 50 == 0 else int(p) for i, p in enumerate(rng.integers(-40, 40, 500))]
    domain = domain_of(2, sizes=(size,) if size else (), numbers=numbers)
    rows: dict[str, list[object]] = {"id": persons}
    # A category and a number that are not declared are dropped values, and rows with them may stay.
    rows |= {"v0": rng.permutation(510)[:500].astype(str).tolist()} if size else {}
    rows |= {f"n{i}": (rng.permutation(500) * 2**33).tolist() for i in range(numbers)}
    expected = chosen(MemorySource(domain, rows, b"s"))
    table = pa.table(rows)
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=100)
    csv.write_csv(table, tmp_path / "rows.csv")
    for data in (tmp_path / "rows.parquet", tmp_path / "rows.csv", table):
        source = DuckDBSource(domain, data, b"s")
        assert chosen(source) == expected
        assert source.judge()["units"] == len(set(persons) - {None})
        assert source.judge()["rows_without_unit"] == persons.count(None)


def chosen(source) -> list[tuple[int, ...]]:
    names = tuple(source.domain.variables)
    batches = list(source.scan(names))
    columns = [np.concatenate([batch[name] for batch in batches]).tolist() for name in names]
    return sorted(zip(*columns, strict=True))


@pytest.mark.parametrize("sizes", [(3, 300, 40_000), (11, 21, 10), (90, 90, 90, 2)])
def test_contents_of_looked_up_columns_are_those_of_their_codes(sizes) -> None:
    """Some together, some alone, by how many values they have."""
    domain, rng = domain_of(1, sizes=sizes), np.random.default_rng(3)
    row_hash = _row_hash.RowHash(domain, b"s")
    columns = [
        Factored(rng.integers(0, size + 2, 500).astype(np.uint16), rng.permutation(np.arange(-2, size) + 1))
        for size in sizes
    ]
    columns = [
        Factored(column.places, np.minimum(column.codes, size - 1)) for column, size in zip(columns, sizes, strict=True)
    ]
    expected = row_hash.contents([column.expand() for column in columns], 500)
    assert row_hash.contents(columns, 500).tolist() == expected.tolist()
