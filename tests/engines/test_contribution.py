"""Which rows of a person count."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.engines._contribution import kept, kept_rows

ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=8)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(ROWS, st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_choice_is_a_function_of_the_persons_rows(rows, most, random) -> None:
    """Positions do not matter: in any order the same contents stay."""
    first = sorted(rows[i] for i in kept(b"s", "p", list(enumerate(rows)), most))
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert sorted(shuffled[i] for i in kept(b"s", "p", list(enumerate(shuffled)), most)) == first
    assert len(first) == min(most, len(rows))


def test_the_secret_and_the_person_decide() -> None:
    rows = [(i, [i]) for i in range(50)]
    assert kept(b"s", "p", rows, 10) != kept(b"t", "p", rows, 10)
    assert kept(b"s", "p", rows, 10) != kept(b"s", "q", rows, 10)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 5)), max_size=20), st.integers(1, 3))
def test_whole_columns_equal_person_by_person(rows, most) -> None:
    people = ["a", "b", "c", "d"]
    owner = np.array([person for person, _ in rows], dtype=np.int64)
    codes = np.array([code for _, code in rows], dtype=np.int64)
    expected: list[int] = []
    for number, person in enumerate(people):
        mine = [(i, [code]) for i, (who, code) in enumerate(rows) if who == number]
        expected += kept(b"s", person, mine, most)
    assert kept_rows(b"s", [codes], owner, people, most).tolist() == sorted(expected)
