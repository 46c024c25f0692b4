"""Whose row each row is: persons as numbers, equal exactly where their canonical texts are, and these texts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.engines._arrow import as_arrow, filled, nulls
from dalenius.spec.coding import canonical_text

# So many rows at a time stay in the cache of a core with all that is worked out of them.
ROWS_AT_ONCE = 1 << 17


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """A number for each row's person, which rows have one (None for all), and the texts of some of the numbers.

    Where `are_digits`, a person's text is the digits of the number.
    """

    numbers: NDArray[Any]
    present: NDArray[np.bool_] | None
    texts: Callable[[NDArray[Any]], Any]
    are_digits: bool = False

    @property
    def rows_without(self) -> int:
        return 0 if self.present is None else int((~self.present).sum())

    def count(self) -> int:
        numbers = np.sort(self.numbers if self.present is None else self.numbers[self.present])
        return int((numbers[1:] != numbers[:-1]).sum()) + bool(len(numbers))


def people_of(chunks: Sequence[Any]) -> People:
    """From the Arrow arrays of a unit's column: whole numbers stand for themselves, anything else is numbered."""
    import pyarrow as pa

    if not chunks:
        return People(np.empty(0, dtype=np.int64), None, _digits, are_digits=True)
    column = pa.chunked_array(chunks)
    if pa.types.is_signed_integer(column.type):
        present = _present(column)
        parts = [filled(chunk, 0) for chunk in column.chunks]
        numbers = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return People(numbers, present, _digits, are_digits=True)
    encoded = column.dictionary_encode()
    present = _present(encoded)
    distinct = encoded.chunk(encoded.num_chunks - 1).dictionary
    parts = [filled(chunk.indices, 0) for chunk in encoded.chunks]
    numbers = np.concatenate(parts)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return People(numbers, present, lambda wanted: distinct.take(as_arrow(wanted)))
    return _by_text(numbers, present, distinct.to_pylist())


def _by_text(numbers: NDArray[Any], present: NDArray[np.bool_] | None, distinct: list[object]) -> People:
    """Values of which several may print alike (0.0 and -0.0) or stand for nobody (NaN)."""
    import pyarrow as pa

    places: dict[str, int] = {}
    texts = [canonical_text(value) for value in distinct]
    renumbered = [-1 if text is None else places.setdefault(text, len(places)) for text in texts]
    numbers = np.asarray([*renumbered, -1], dtype=np.int64)[numbers]
    is_somebody = numbers >= 0
    names = pa.array(list(places), pa.string())
    return People(
        numbers, is_somebody if present is None else present & is_somebody, lambda wanted: names.take(as_arrow(wanted))
    )


def _present(column: Any) -> NDArray[np.bool_] | None:
    if not column.null_count:
        return None
    return np.concatenate([~nulls(chunk) for chunk in column.chunks])


def _digits(wanted: NDArray[Any]) -> Any:
    import pyarrow as pa

    return as_arrow(wanted).cast(pa.string())
