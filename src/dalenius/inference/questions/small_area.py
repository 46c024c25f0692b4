"""A small-area view of a released table, by empirical Bayes: docs/reference/inference/small-areas.md."""

from collections.abc import Sequence
from math import exp, pi, sqrt
from statistics import NormalDist
from typing import Annotated

import numpy as np

from dalenius.algebra import joint
from dalenius.algebra.tree_law import STRUCTURE, TreeLaw
from dalenius.core.estimate import Kind
from dalenius.core.law import Additive, FloatArray, IntArray, Joint
from dalenius.core.release import Release, Table
from dalenius.errors import Unsupported
from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.observation import adjusted_note, find_table, refusal
from dalenius.inference.observe import Source
from dalenius.inference.parameters import Axes, Confidence
from dalenius.inference.question import Hint, InferenceQuestion

METHOD = "empirical Bayes: a model of small areas"
MODEL = (
    "A model, not a measurement: cells are drawn towards the mean of their group as far as groups look alike. Cells "
    "that are unlike their group are better read in the released table."
)
_LEAST_MEAN = 0.25


def small_areas(
    release: Source,
    axes: Axes = (),
    within: Annotated[
        tuple[str, ...],
        Hint(help="An axis in which the cells of a group agree; repeat for each. The tree of the release if left out."),
    ] = (),
    confidence: Confidence = 0.95,
) -> IntervalTable:
    """Small cells by a model (empirical Bayes): each drawn towards its group.

    Groups are the parents of the places in a release along a hierarchy, by the other axes; elsewhere the cells that
    agree in the axes of `within`.
    """
    if not isinstance(release, Release):
        raise Unsupported("The small-area view is of one release.")
    table = find_table(release, axes)
    if table.measure not in ("count", "total") or not np.isfinite(table.variance).all():
        raise Unsupported("The small-area view is of counts and totals with a published error.")
    if not isinstance(release.law, Additive) and not joint.is_combined(release.law):
        raise refusal(release.law)
    groups = _groups(release, table, within)
    values, error = _fitted(table.values, table.variance, groups, _mean_variances(release, table, groups))
    reach = NormalDist().inv_cdf(0.5 + confidence / 2) * error
    least = 0.0 if table.measure == "count" else -np.inf
    ends = (np.maximum(values - reach, least), np.maximum(values + reach, least))
    stated = {"kind": Kind.NOISE_AND_MODEL, "method": METHOD, "notes": (MODEL, *adjusted_note(release))}
    return IntervalTable.of(table, ends, values=values, confidence=confidence, **stated)


def _groups(release: Release, table: Table, within: Sequence[str]) -> IntArray:
    shape = table.space.shape or (1,)
    places = np.indices(shape).reshape(len(shape), -1)
    keys = []
    parents = _parents(release, table)
    for k, axis in enumerate(table.space.axes):
        if axis.name in within or (parents is not None and axis.variable not in (parents[0], *within)):
            keys.append(places[k])
        elif parents is not None and axis.variable == parents[0]:
            keys.append(parents[1][places[k]])
    unknown = [name for name in within if name not in {axis.name for axis in table.space.axes}]
    if unknown:
        raise Unsupported(f"The table has no axis {unknown[0]!r} to group by.", received=unknown[0])
    if not keys:
        return np.zeros(places.shape[1], dtype=np.int64)
    return np.asarray(np.unique(np.stack(keys), axis=1, return_inverse=True)[1]).reshape(-1).astype(np.int64)


def _parents(release: Release, table: Table) -> tuple[str, IntArray] | None:
    """The variable of the tree, and the parent of each of its places in the table; None where there is no tree."""
    law = release.law
    if not isinstance(law, Joint) or law.structure != STRUCTURE:
        return None
    read = TreeLaw.of(law)
    position = [t.name for t in release.tables].index(table.name)
    shown = read.table.shown[position]
    if shown.level < 2 or shown.leaves is not None:
        return None
    variable = str(law.parameters["axes"][read.axis]).partition(".")[0]
    return variable, np.asarray(read.table.tree.parents[shown.level - 1], dtype=np.int64)


def _mean_variances(release: Release, table: Table, groups: IntArray) -> FloatArray:
    """The variance of the noise of every group's mean, from the law."""
    sizes = np.bincount(groups).astype(np.float64)
    if isinstance(release.law, Additive):
        return np.bincount(groups, table.variance) / sizes**2
    law = release.law
    assert isinstance(law, Joint)
    if law.structure == STRUCTURE:
        read, position = TreeLaw.of(law), [t.name for t in release.tables].index(table.name)
        squares = [read.square(position, (groups == g).astype(np.float64)) for g in range(len(sizes))]
        return np.array(squares) / sizes**2
    covariance = joint.covariance(release, table, range(len(groups)))
    return np.array([covariance[np.ix_(groups == g, groups == g)].sum() for g in range(len(sizes))]) / sizes**2


def _fitted(
    values: FloatArray, variance: FloatArray, groups: IntArray, of_mean: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Values by the model, and the roots of their mean squared errors; `of_mean` is the noise of the groups' means."""
    sizes = np.bincount(groups).astype(np.float64)
    mean = np.bincount(groups, values) / sizes
    deviation = values - mean[groups]
    noise = np.maximum(variance - of_mean[groups], 0.0)
    scale = np.maximum(mean, _LEAST_MEAN)[groups] * (1 - 1 / sizes)[groups]
    phi, spread = _phi(deviation**2 - noise, scale)
    left = phi * scale
    whole = np.maximum(left + noise, 1e-60)
    weight = np.where(noise > 0, left / whole, 1.0)
    doubt = 2 * noise**2 / whole**3 * (spread * scale) ** 2
    error = of_mean[groups] + weight * noise + np.where(noise > 0, doubt, 0.0)
    return mean[groups] + weight * deviation, np.sqrt(error)


def _phi(squares: FloatArray, free: FloatArray) -> tuple[float, float]:
    """Posterior mean and standard deviation of phi, normal about its moment estimate and not negative."""
    total = float(free.sum())
    if total <= 0:
        return 0.0, 0.0
    estimate = float(squares.sum()) / total
    error = sqrt(float(((squares - estimate * free) ** 2).sum())) / total
    if error == 0:
        return max(estimate, 0.0), 0.0
    z = estimate / error
    above = NormalDist().cdf(z)
    if above < 1e-12:
        return 0.0, error
    ratio = exp(-z * z / 2) / sqrt(2 * pi) / above
    return estimate + error * ratio, error * sqrt(max(1 - z * ratio - ratio**2, 0.0))


SMALL_AREA = InferenceQuestion(
    name="small_area",
    ask=small_areas,
    assumes=(
        "The cells of a group vary about its mean, with a variance in proportion to it that is one for all groups.",
    ),
    examples=({}, {"within": ("A",)}),
)
