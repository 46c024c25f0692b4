"""Arrow arrays and tables, as the engines that fetch through Arrow need them: coded, numbered, digested."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.domain import Categories, Variable
from dalenius.engines._columns import Column, Factored, IntegerMap, code_distinct, code_floats, code_integers
from dalenius.errors import RequestError
from dalenius.spec.coding import category_reader


def code_array(variable: Variable, array: Any) -> Column:
    """Codes of a raw column, by the fastest road that equals the scalar reader."""
    fast = _fast(variable, array)
    if fast is None:
        return code_by_dictionary(variable, array)
    if isinstance(fast, Factored) or not array.null_count:
        return fast
    fast[nulls(array)] = code_distinct(variable, [None])[0]
    return fast


def _fast(variable: Variable, array: Any) -> Column | None:
    """Vectorised codes of the values that are not NULL, of categories with NULL; None where there is no fast road."""
    import pyarrow as pa

    if variable.lookup is not None or variable.is_date:
        return None
    is_integer = pa.types.is_signed_integer(array.type)
    if not (is_integer or pa.types.is_float64(array.type)):
        return None
    numbers = filled(array, 0)
    if variable.is_numeric:
        if is_integer:
            return code_integers(variable.bounds, numbers.astype(np.int64, copy=False))
        return code_floats(variable, numbers)
    integers = IntegerMap.of(variable.categories) if is_integer else None
    if integers is None:
        return None
    return integers.take(numbers, nulls(array) if array.null_count else None)


def code_by_dictionary(variable: Variable, array: Any) -> Factored:
    """Codes of any column: each distinct value of the batch is read once."""
    places, distinct = _distinct(array)
    return Factored(places, code_distinct(variable, distinct))


def code_matched(variable: Variable, array: Any, is_missing: Any = None) -> Factored:
    """Codes of a column that the database matched with the declared texts: NULL where it found none.

    `is_missing` tells the NULLs of the file from texts that were not declared; without it the two follow one rule.
    """
    import pyarrow as pa

    codes = _matched_codes(variable.categories)
    last = len(codes) - 1
    places = array.indices
    if places.null_count and last >= 2**8:
        # The two places behind the declared texts may not fit into 8 or 16 bits.
        places = places.cast(pa.int64())
    numbers = filled(places, last)
    if is_missing is not None and array.indices.null_count:
        numbers = np.where(as_numpy(is_missing), last - 1, numbers)
    return Factored(numbers, codes, is_declared=True)


@lru_cache(maxsize=256)
def _matched_codes(categories: Categories) -> NDArray[np.int64]:
    """Codes of the declared texts in their order, of a missing value, and of a text that was not declared."""
    read = category_reader(categories)
    return np.array([read(text)[0] for text in (*categories.texts, None, "\0not declared")], dtype=np.int64)


def _distinct(array: Any) -> tuple[Any, list[object]]:
    """Places in a list of distinct values whose last entry is None."""
    import pyarrow as pa

    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode(null_encoding="encode")
    distinct = [*array.dictionary.to_pylist(), None]
    indices = array.indices
    # A dictionary of 128 values fills its 8-bit indices: the place of NULL needs a wider type.
    if indices.null_count:
        indices = indices.cast(pa.int64())
    return filled(indices, len(distinct) - 1), distinct


def as_numpy(array: Any) -> NDArray[Any]:
    """Numbers or truth values without NULLs, without a copy where there can be none.

    Arrow's own conversion would import pandas, which takes a second and 60 MB.
    """
    import pyarrow as pa

    if pa.types.is_boolean(array.type):
        return as_numpy(array.cast(pa.uint8())).astype(np.bool_)
    if not len(array):
        return np.empty(0, dtype=array.type.to_pandas_dtype())
    return np.from_dlpack(array)


def filled(array: Any, value: int) -> NDArray[Any]:
    """Numbers with a value in the place of NULL, in the array's own type; Arrow's own way would import pandas."""
    import pyarrow as pa

    if not array.null_count:
        return as_numpy(array)
    if pa.types.is_boolean(array.type):
        return filled(array.cast(pa.uint8()), value).astype(np.bool_)
    bare = pa.Array.from_buffers(array.type, len(array), [None, array.buffers()[1]], 0, array.offset)
    return np.where(nulls(array), value, as_numpy(bare))


def as_arrow(numbers: NDArray[Any], present: NDArray[np.bool_] | None = None) -> Any:
    """An Arrow array over the same numbers, NULL where not present; Arrow's own way would import pandas."""
    import pyarrow as pa

    numbers = np.ascontiguousarray(numbers)
    bits = None if present is None else pa.py_buffer(np.packbits(present, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), len(numbers), [bits, pa.py_buffer(numbers)])


def nulls(array: Any) -> NDArray[np.bool_]:
    return as_numpy(array.is_null())


def is_table(data: object) -> bool:
    """Whether this is a table in memory, by its type: a mapping of columns, a list of rows, or a data frame."""
    import pyarrow as pa

    is_plain = isinstance(data, pa.Table | Mapping | list | tuple)
    return is_plain or hasattr(data, "to_arrow") or type(data).__module__.startswith("pandas")


def arrow_table(data: Any) -> Any:
    import pyarrow as pa

    try:
        if isinstance(data, pa.Table):
            return data
        if isinstance(data, Mapping):
            return pa.table({str(name): list(column) for name, column in data.items()})
        if isinstance(data, list | tuple):
            return pa.Table.from_pylist(list(data))
        if hasattr(data, "to_arrow"):
            return data.to_arrow()
        if type(data).__module__.startswith("pandas"):
            return pa.Table.from_pandas(data, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        raise RequestError("The columns hold mixed types; give each column one type.") from None
    raise RequestError(
        "Data must be a path, a mapping of columns, a list of rows, or a pandas, polars or Arrow table;"
        f" received {type(data).__name__}."
    )


def private_copy(table: Any) -> Any:
    """The same table in memory that nobody else can write to: a column may lie in an array of the caller's."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def digest_column(digest: Any, name: str, column: Any) -> None:
    """Feed a column's content to a digest, whatever its chunks and paddings are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    digest.update(f"column {len(name)} {name} {column.type} {len(column)}\n".encode())
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    digest.update(np.packbits(nulls(array)).tobytes())
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        texts = array.fill_null("").cast(pa.large_string())
        digest.update(as_numpy(pc.binary_length(texts)).tobytes())
        _, offsets, content = texts.buffers()
        ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
        if content is not None and len(ends):
            digest.update(memoryview(content)[int(ends[0]) : int(ends[-1])])
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        digest.update(filled(array, 0).tobytes())
    else:
        for value in array.to_pylist():
            content = repr(value).encode("utf-8", "surrogateescape")
            digest.update(len(content).to_bytes(8, "little") + content)
