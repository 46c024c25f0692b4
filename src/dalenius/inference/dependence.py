"""What the errors of two released numbers have in common, and how far both reach together."""

from dataclasses import dataclass
from math import hypot, inf, sqrt

import numpy as np

from dalenius.algebra.estimates import curves_of, is_estimate
from dalenius.algebra.intervals import reach
from dalenius.algebra.listed import correlation_bound, is_list_of_estimates
from dalenius.core.law import Additive, Joint
from dalenius.inference.drawn import drawn_as
from dalenius.inference.noise import Noise
from dalenius.inference.released_number import Arms, ReleasedNumber, is_counted, labels_of

OWN_NOISE = "The noise of the two numbers is independent."
ONE_NOISE = "Both numbers rest on the same noisy sums; their errors are joined as if they were opposed."
OTHER_ROWS = "The two numbers are of different records."
SAME_ROWS = (
    "Records may count in both numbers, and how they are related was not measured: errors of sampling are added. Two "
    'samples without common units are compared with samples = "independent".'
)
# Standard deviation of noise, in its steps, from which on it is as good as normal.
_FEW_STEPS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """What two numbers have in common: the largest correlation of their noise, and whether records count in both."""

    noise: float
    has_same_rows: bool
    confidence: float = 0.95
    is_added: bool = False
    """Whether ends are added whatever is known: of quantiles, and where noise is a few steps."""

    def joined(self, first: ReleasedNumber, second: ReleasedNumber) -> Arms:
        """How far the sum of two numbers reaches below and above it."""
        part = self._better_known(first, second)
        return part * self._side(first, second, 0), part * self._side(first, second, 1)

    def _better_known(self, first: ReleasedNumber, second: ReleasedNumber) -> float:
        """The part of the joined arms that is needed, as the sum of two variances is better known than each of them.

        Each number's arms allow for the noise in its own variance of sampling. Of independent numbers the two variances
        are added as they were measured, and the sum is one variance whose noise is known too.
        """
        own = np.array([[number.std_errors[0] ** 2, *number.spread] for number in (first, second)])
        if self.is_added or self.noise or self.has_same_rows or not np.isfinite(own).all() or not own[:, 2].any():
            return 1.0
        noise, sampling, uncertainty = np.vstack([own, own.sum(axis=0)]).T
        total = np.maximum(noise + np.maximum(sampling, 0.0), 1e-300)
        measured = {"sampling": sampling, "uncertainty": uncertainty}
        one, two, both = reach(self.confidence, noise, fourth=np.zeros(3), **measured) * np.sqrt(total)
        return min(float(both / hypot(one, two)), 1.0)

    def _side(self, first: ReleasedNumber, second: ReleasedNumber, side: int) -> float:
        if self.is_added:
            return first.both[side] + second.both[side]
        noise = _together(first.noise[side], second.noise[side], self.noise)
        sampling = _together(first.sampling[side], second.sampling[side], float(self.has_same_rows))
        return hypot(noise, sampling)

    def std_error(self, first: ReleasedNumber, second: ReleasedNumber) -> float:
        (a, whole), (b, other) = first.std_errors, second.std_errors
        sampling = [sqrt(max(total * total - own * own, 0.0)) for own, total in ((a, whole), (b, other))]
        return hypot(_together(a, b, self.noise), _together(sampling[0], sampling[1], float(self.has_same_rows)))

    @property
    def words(self) -> tuple[str, str]:
        return (ONE_NOISE if self.noise else OWN_NOISE), (SAME_ROWS if self.has_same_rows else OTHER_ROWS)


def _together(first: float, second: float, correlation: float) -> float:
    """The reach of a sum of two errors with at most this correlation."""
    if inf in (first, second):
        return inf
    return sqrt(first * first + second * second + 2 * correlation * first * second)


def exact_laws(one: ReleasedNumber, two: ReleasedNumber) -> tuple[Noise, Noise] | None:
    """The exact laws of the noise of two counts of independent releases; None of other numbers."""
    if one.law is None or two.law is None or noise_correlation(one, two):
        return None
    return one.law[1], two.law[1]


def is_coarse(number: ReleasedNumber, kind: str) -> bool:
    """Whether a measured number moves by a few steps of its error, so that arms are no multiples of it."""
    own = (block.law for block in number.release.blocks if block.name == number.table.name)
    law = next((law for law in (number.release.law, *own) if isinstance(law, Additive)), None)
    step = 1.0 if law is None else float(law.step)
    is_measured = law is not None or is_counted(number.release, number.table)
    return is_measured and number.std_errors[kind == "parameter"] < _FEW_STEPS * step


def noise_correlation(one: ReleasedNumber, two: ReleasedNumber) -> float:
    """The largest correlation that the noise of two numbers can have, to either sign."""
    entries = [number.release.provenance.ledger_entry for number in (one, two)]
    if one.release is not two.release and (not entries[0] or entries[0] != entries[1]):
        return 0.0
    law = one.release.law
    if one.release is not two.release or -1 in (one.place, two.place):
        return 1.0
    if isinstance(law, Joint) and is_list_of_estimates(law):
        names = [table.name for table in one.release.tables]
        tables = [names.index(number.table.name) for number in (one, two)]
        return correlation_bound(law, (tables[0], one.place), (tables[1], two.place))
    is_cell = (is_estimate(law) or isinstance(law, Additive)) and one.table is two.table and one.place != two.place
    points = len(one.table.space.axes[-1]) if curves_of(law, one.table.space.size) is not None else 1
    return 0.0 if is_cell and one.place // points != two.place // points else 1.0


def has_same_rows(one: ReleasedNumber, two: ReleasedNumber, samples: str) -> bool:
    """Whether a record may count in both numbers."""
    first, second = one.release.provenance, two.release.provenance
    if first.population != second.population:
        return False
    if (first.dataset, first.version) != (second.dataset, second.version):
        return samples == "overlapping"
    if max(drawn_as(number.release).rows for number in (one, two)) > 1:
        return True
    common = set(one.where) & set(two.where)
    return all(labels_of(one.where[name]) & labels_of(two.where[name]) for name in common) if common else True
