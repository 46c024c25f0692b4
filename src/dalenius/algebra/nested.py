"""Tables that are sums of one measured table, along declared hierarchies (region within country) and around zeros.

A view is one entry for each axis of the finest table: None where the axis is summed out, otherwise the group of each
category (its own position for the finest level).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dalenius.core.law import FloatArray, IntArray, Joint, Law

View = tuple[tuple[int, ...] | None, ...]


def aggregate(values: FloatArray, view: View) -> FloatArray:
    """The finest table (in its shape), summed to a view."""
    out = np.asarray(values)
    for axis in reversed(range(len(view))):
        groups = view[axis]
        if groups is None:
            out = out.sum(axis=axis)
        elif groups != tuple(range(len(groups))):
            moved = np.moveaxis(out, axis, 0)
            summed = np.zeros((max(groups) + 1, *moved.shape[1:]), dtype=moved.dtype)
            np.add.at(summed, list(groups), moved)
            out = np.moveaxis(summed, 0, axis)
    return np.asarray(out)


@dataclass(frozen=True, eq=False)
class NestedLaw:
    """Views of a table of this shape whose cells have independent noise of one variance, but for the zeros."""

    shown: tuple[View, ...]
    shape: tuple[int, ...]
    variance: float
    zeros: tuple[int, ...]
    structure: ClassVar[str] = "nested"

    @classmethod
    def of(cls, law: Joint) -> "NestedLaw":
        parameters = law.parameters
        shown = (tuple(None if groups is None else tuple(groups) for groups in view) for view in parameters["shown"])
        (block,) = parameters["blocks"]
        zeros = tuple(parameters.get("structural_zeros", ()))
        return cls(tuple(shown), tuple(parameters["shape"]), float(block["variance"]), zeros)

    def to_parameters(self) -> dict[str, Any]:
        """The part of a law's document that says what is shown; blocks and zeros stand beside it."""
        return {"shown": [[None if groups is None else list(groups) for groups in view] for view in self.shown]}

    @cached_property
    def _is_noisy(self) -> FloatArray:
        noisy = np.ones(self.shape)
        noisy.ravel()[list(self.zeros)] = 0.0
        return noisy

    @property
    def variances(self) -> list[FloatArray]:
        return [aggregate(self.variance * self._is_noisy, view).ravel() for view in self.shown]

    def estimates(
        self, arrays: Sequence[IntArray], laws: Sequence[Law], blocks: Sequence[Mapping[str, Any]]
    ) -> list[FloatArray]:
        cells = arrays[0].astype(np.float64).reshape(self.shape)
        return [aggregate(cells, view).ravel() for view in self.shown]

    def covariance(self, first: int, cells: Sequence[int], second: int, others: Sequence[int]) -> FloatArray:
        """Of some shown cells of a table with some of another: the noise of the finest cells that both are sums of."""
        common = self._held(first)[list(cells)] @ self._held(second)[list(others)].T
        return np.asarray(self.variance * common.toarray(), dtype=np.float64)

    def counts(self, interior: IntArray, spec: Mapping[str, Any]) -> IntArray:
        return interior

    def _held(self, position: int) -> Any:
        """Which noisy cells of the finest table each cell of a shown table is the sum of, as a sparse matrix."""
        from scipy.sparse import csr_array

        place: IntArray = np.zeros(self.shape, dtype=np.int64)
        for axis, groups in enumerate(self.shown[position]):
            if groups is not None:
                own = np.array(groups).reshape([-1 if k == axis else 1 for k in range(len(self.shape))])
                place = place * (max(groups) + 1) + own
        flat = place.ravel()
        return csr_array((self._is_noisy.ravel(), (flat, np.arange(flat.size))), shape=(flat.max() + 1, flat.size))
