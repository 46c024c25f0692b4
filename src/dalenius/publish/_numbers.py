"""Numbers of a table as canonical JSON, many at a time, byte for byte as the standard library writes them."""

import json
from typing import Any

import numpy as np
import orjson

from dalenius.algebra.tabulation import tidy, tidy_list
from dalenius.core.law import FloatArray, IntArray

# Between these the two writers agree on every float; they differ in when and how an exponent is written.
_LEAST, _MOST = 1e-4, 1e15


def canonical_bytes(content: object) -> bytes:
    """JSON with sorted keys and no spaces."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def integers(values: IntArray) -> bytes:
    if values.dtype != np.int64:
        return canonical_bytes(values.tolist())
    return orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY)


def floats(values: FloatArray) -> bytes:
    """A list of numbers: integers without a decimal point, missing ones as null."""
    if len(values) and np.all(np.abs(values) < 2.0**62) and np.all(values == np.rint(values)):
        return integers(values.astype(np.int64))
    sizes = np.abs(values)
    is_agreed = np.all((sizes == 0) | np.isnan(sizes) | ((sizes >= _LEAST) & (sizes < _MOST)))
    return orjson.dumps(tidy_list(values)) if is_agreed else canonical_bytes(tidy_list(values))


def one_or_floats(values: FloatArray) -> bytes:
    """A list, or a single number where all cells agree."""
    return canonical_bytes(tidy(float(values[0]))) if _is_one(values) else floats(values)


def one_or_list(values: FloatArray) -> Any:
    """The same as plain Python values."""
    return tidy(float(values[0])) if _is_one(values) else tidy_list(values)


def _is_one(values: FloatArray) -> bool:
    return len(values) > 1 and bool(np.all(values == values[0]))
