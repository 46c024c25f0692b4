"""Perturbation tables p(a, b): building, reading, writing, and their exact (epsilon, delta).

A table is a `Kernel`: integer rows over a common denominator, one for each count from 0; counts beyond the last row
follow it, shifted. Whatever a table was made of, its privacy is computed from the integers that will be used.
The text format is that of the R packages ptable and cellKey: columns i, j, p, v, p_int_lb, p_int_ub, type.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod

import numpy as np

from dalenius.core.integer_law import Listed
from dalenius.core.law import Additive, Censored, IntArray, IntegerLaw, Kernel, Law
from dalenius.core.rationals import exp_lower, log_upper
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import DocumentError, NotAllowed, TooLarge, Unsupported
from dalenius.exact.approximate_concentrated import ROUNDING, Pair, concentrated

SCALE = 1 << 62
_MOST_PAIRS = 512
_TOLERANCE = Fraction(1, 10**4)
COLUMNS = ("i", "j", "p", "v", "p_int_lb", "p_int_ub", "type")


def kernel_from_rows(name: str, rows: Mapping[int, Mapping[int, Fraction]]) -> Kernel:
    """A table from probabilities; each row is normalised to integers, what rounding leaves goes to its mode."""
    if sorted(rows) != list(range(len(rows))):
        raise DocumentError("A perturbation table needs one row for each count 0, 1, 2, … without gaps.")
    firsts, made = [], []
    for a in range(len(rows)):
        row = {b: p for b, p in rows[a].items() if p}
        total = sum(row.values(), Fraction(0))
        if not row or min(row.values()) < 0 or abs(total - 1) > _TOLERANCE:
            raise DocumentError(f"Row {a} of the perturbation table is not a probability distribution.", row=a)
        first, last = min(row), max(row)
        whole = [int(row.get(b, Fraction(0)) * SCALE / total) for b in range(first, last + 1)]
        whole[whole.index(max(whole))] += SCALE - sum(whole)
        firsts.append(first)
        made.append(tuple(whole))
    return Kernel(name=name, firsts=tuple(firsts), rows=tuple(made), scale=SCALE)


def kernel_of(law: IntegerLaw, largest: int, *, floor: int | None = None) -> Kernel:
    """The table of additive noise for counts up to `largest`; with `floor`, smaller values are shown as the floor."""
    table = law.weights(128)
    total = sum(table.lower)
    noise = {table.first + i: Fraction(w, total) for i, w in enumerate(table.lower) if w}
    rows: dict[int, dict[int, Fraction]] = {}
    for a in range(largest + 1):
        rows[a] = {}
        for x, p in noise.items():
            b = a + x if floor is None else max(a + x, floor)
            rows[a][b] = rows[a].get(b, Fraction(0)) + p
    return kernel_from_rows(law.name, rows)


def kernel_of_law(law: Law, largest: int) -> Kernel:
    """The table behind a published law of counts, for counts up to `largest`; a perturbation table is itself."""
    if isinstance(law, Kernel):
        return law
    if isinstance(law, Censored):
        free = kernel_of_law(law.additive, largest)
        return kernel_from_rows("censored", {a: _censored(free, a, law.least) for a in range(largest + 1)})
    if isinstance(law, Additive) and law.step == 1:
        return kernel_of(law.noise, largest)
    raise Unsupported("Only noise on one table of counts is a perturbation table p(a, b).")


def _censored(kernel: Kernel, a: int, least: int) -> dict[int, Fraction]:
    shown: dict[int, Fraction] = {}
    for b, weight in _row(kernel, a).items():
        value = b if b >= least else 0
        shown[value] = shown.get(value, Fraction(0)) + Fraction(weight, kernel.scale)
    return shown


def from_text(text: str, name: str = "imported") -> Kernel:
    """Read a table with the columns i, j, p (others are ignored), separated by commas, semicolons or blanks."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise DocumentError("The perturbation table is empty.")
    header = _fields(lines[0])
    if not {"i", "j", "p"} <= set(header):
        raise DocumentError("A perturbation table needs the columns i, j and p.", received=header)
    place = [header.index(c) for c in ("i", "j", "p")]
    rows: dict[int, dict[int, Fraction]] = {}
    for number, line in enumerate(lines[1:], start=2):
        fields = _fields(line)
        try:
            i, j, p = int(fields[place[0]]), int(fields[place[1]]), Fraction(fields[place[2]])
        except (ValueError, IndexError, ZeroDivisionError):
            raise DocumentError(f"Line {number} of the perturbation table is not 'i, j, p'.") from None
        row = rows.setdefault(i, {})
        if j in row:
            raise DocumentError(f"Line {number} states p({i}, {j}) a second time.")
        row[j] = p
    return kernel_from_rows(name, rows)


def _fields(line: str) -> list[str]:
    return [field.strip('"') for field in line.replace(";", " ").replace(",", " ").split()]


def to_text(kernel: Kernel) -> str:
    """The table in the format of the R packages ptable and cellKey."""
    lines = [",".join(COLUMNS)]
    for a, row in enumerate(kernel.rows):
        below = 0
        for k, weight in enumerate(row):
            if weight:
                j = kernel.firsts[a] + k
                values = (weight, below, below + weight)
                p, low, high = (f"{v / kernel.scale:.17g}" for v in values)
                lines.append(f"{a},{j},{p},{j - a},{low},{high},all")
                below += weight
    return "\n".join(lines) + "\n"


def show(kernel: Kernel, digits: int = 4, most: int = 10**9, largest: int = 10**9) -> str:
    """The table for reading: a line for each count up to the largest, and its likeliest outputs.

    What is left out is said in a last line.
    """
    rows = kernel.rows[: largest + 1]
    outputs = ((kernel.firsts[a] + k, w) for a, row in enumerate(rows) for k, w in enumerate(row))
    visible = [b for b, w in outputs if 2 * w * 10**digits >= kernel.scale]
    low, high = min(visible, default=0), max(visible, default=0) + 1
    wanted = high - low
    if wanted > most:
        # The outputs in the middle, around the counts themselves.
        low = max(low, min(high - most, (len(rows) - most) // 2))
        high = low + most
    head = "a \\ b " + " ".join(f"{b:>{digits + 2}}" for b in range(low, high))
    body = []
    for a, (first, row) in enumerate(zip(kernel.firsts, rows, strict=False)):
        cells = {first + k: w / kernel.scale for k, w in enumerate(row)}
        shown = (f"{cells[b]:.{digits}f}" if cells.get(b) else "." for b in range(low, high))
        body.append(f"{a:>5} " + " ".join(f"{s:>{digits + 2}}" for s in shown))
    left = {"counts": len(kernel.rows) - len(rows), "outputs": wanted - (high - low)}
    more = ", ".join(f"{number:,} more {name}" for name, number in left.items() if number)
    return "\n".join([head, *body, *([f"({more})"] if more else [])])


@lru_cache(maxsize=65536)
def _row(kernel: Kernel, a: int) -> dict[int, int]:
    last = len(kernel.rows) - 1
    first = kernel.firsts[min(a, last)] + max(a - last, 0)
    return {first + k: w for k, w in enumerate(kernel.rows[min(a, last)]) if w}


@dataclass(frozen=True)
class Loss:
    """What one cell gives away when it moves by at most `size`."""

    size: int
    largest_finite: Fraction
    impossible: Fraction
    rows: tuple[int, int]
    """The pair of counts with the largest impossible mass."""


@lru_cache(maxsize=256)
def loss_of(kernel: Kernel, size: int) -> Loss:
    """The largest finite loss (rounded up) and the largest mass of impossible outputs, over all rows and moves."""
    ratio, worst, where = Fraction(1), 0, (0, 1)
    for a, b in _ordered_pairs(kernel, size):
        p, q = _row(kernel, a), _row(kernel, b)
        gone = sum(w for x, w in p.items() if x not in q)
        if gone > worst:
            worst, where = gone, (a, b)
        for x, w in p.items():
            if x in q and w * ratio.denominator > ratio.numerator * q[x]:
                ratio = Fraction(w, q[x])
    return Loss(size, log_upper(ratio, 60), Fraction(worst, kernel.scale), where)


def _pairs(kernel: Kernel, size: int) -> Iterable[tuple[int, int]]:
    """All pairs of counts that a move of at most `size` can swap, up to the shift of the last row."""
    return ((a, a + s) for s in range(1, size + 1) for a in range(len(kernel.rows)))


def _ordered_pairs(kernel: Kernel, size: int) -> Iterable[tuple[int, int]]:
    return (pair for a, b in _pairs(kernel, size) for pair in ((a, b), (b, a)))


@lru_cache(maxsize=4096)
def hockey_stick(kernel: Kernel, size: int, epsilon: Fraction) -> Fraction:
    """delta(epsilon) of one cell that moves by at most `size`: exact, with exp(epsilon) rounded down."""
    factor = exp_lower(epsilon)
    top, bottom = factor.numerator, factor.denominator
    worst = 0
    for a, b in _ordered_pairs(kernel, size):
        p, q = _row(kernel, a), _row(kernel, b)
        worst = max(worst, sum(max(0, w * bottom - top * q.get(x, 0)) for x, w in p.items()))
    return min(Fraction(1), Fraction(worst, bottom * kernel.scale))


def table_delta(kernel: Kernel, sensitivity: Sensitivity, epsilon: Fraction) -> Fraction:
    """delta of the whole table at a total epsilon: shared among the moved cells in proportion to their moves."""
    if sensitivity.patterns is None:
        raise Unsupported("A perturbation table is priced from patterns of change; fewer rows to a unit are needed.")
    worst = Fraction(0)
    for pattern in sensitivity.patterns:
        parts = (1 - hockey_stick(kernel, size, epsilon * size / sum(pattern)) for size in pattern)
        worst = max(worst, 1 - prod(parts, start=Fraction(1)))
    return worst


@lru_cache(maxsize=1024)
def cell_rho(kernel: Kernel, size: int, delta: Fraction) -> Fraction:
    """rho at delta of one cell that moves by at most `size`, over all pairs of rows; for both orders of each pair."""
    pairs = {_pair_of(_row(kernel, a), _row(kernel, b)) for a, b in _pairs(kernel, size)}
    if len(pairs) > _MOST_PAIRS:
        raise TooLarge("The table has too many different pairs of rows for an exact price.")
    costs = (concentrated(Pair.of_rows(dict(p), dict(q), kernel.scale), delta)[0] for p, q in pairs)
    return max(costs, default=Fraction(0))


def _pair_of(p: Mapping[int, int], q: Mapping[int, int]) -> tuple[tuple[tuple[int, int], ...], ...]:
    """A pair of rows up to a common shift, which changes no loss: many rows of an additive table are one pair."""
    start = min(p)
    return tuple(tuple((b - start, w) for b, w in row.items()) for row in (p, q))


def table_rho(
    kernel: Kernel, sensitivity: Sensitivity, cell_delta: Callable[[int, tuple[int, ...]], Fraction]
) -> tuple[Fraction, Fraction]:
    """(rho, delta) of the whole table: rhos of the moved cells add, and none of them fails.

    `cell_delta` says how much may be cut of a cell that moves by so much within a pattern.
    """
    rho = delta = Fraction(0)
    for pattern in sensitivity.patterns or ():
        shares = [(size, cell_delta(size, pattern)) for size in pattern]
        kept = prod((1 - share - ROUNDING for _, share in shares), start=Fraction(1))
        rho = max(rho, sum((cell_rho(kernel, size, share) for size, share in shares), Fraction(0)))
        delta = max(delta, 1 - kept)
    return rho, delta


def judge(kernel: Kernel, sensitivity: Sensitivity, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The exact delta at epsilon, or a refusal that says which counts the table gives away."""
    exact_delta = table_delta(kernel, sensitivity, epsilon)
    if exact_delta <= delta:
        return exact_delta
    one = loss_of(kernel, 1)
    reason = (
        f"with probability {float(one.impossible):.3g} a count of {one.rows[0]} is shown as a value that a count of"
        f" {one.rows[1]} never shows"
        if one.impossible > delta
        else f"its largest loss is {float(one.largest_finite):.4g}"
    )
    raise NotAllowed(
        f"The perturbation table {kernel.name!r} is ({float(epsilon):g}, {float(exact_delta):.3g})-differentially "
        f"private and not ({float(epsilon):g}, {float(delta):.3g}): {reason}.",
        epsilon=str(epsilon),
        delta=float(exact_delta),
    )


def perturb(kernel: Kernel, counts: IntArray, uniform: Sequence[int] | IntArray) -> IntArray:
    """Each count through its row, by the inverse distribution function of a uniform integer below the scale."""
    shown = np.empty(len(counts), dtype=np.int64)
    last = len(kernel.rows) - 1
    draws = np.asarray(uniform, dtype=np.int64)
    row_of = np.clip(counts, 0, last)
    for a in np.unique(row_of):
        here = row_of == a
        ends = np.cumsum(np.array(kernel.rows[a], dtype=np.int64))
        position = np.searchsorted(ends, draws[here], side="right")
        shown[here] = kernel.firsts[a] + np.maximum(counts[here] - last, 0) + position
    return shown


def kernel_law(kernel: Kernel, counts: IntArray, structural: Iterable[int]) -> list[Listed]:
    """The law of every shown count: the row of the count; a structural zero shows nothing."""
    without, parts = set(structural), []
    for cell, count in enumerate(counts.tolist()):
        points = np.zeros(1, dtype=np.int64) if cell in without else np.array(list(_row(kernel, count)), dtype=np.int64)
        with np.errstate(divide="ignore"):
            logs = np.zeros(1) if cell in without else np.log(kernel.pmf(count, points))
        parts.append(Listed(points[:, None], logs))
    return parts


def max_entropy_kernel(limit: int, variance: float, threshold: int = 0) -> Kernel:
    """The classical design: most entropy with mean zero and the variance, within `limit`, never negative.

    Positive values up to `threshold` are never shown. Row 0 can only show 0: such a table is not differentially
    private, which `judge` says. It is here for comparison and migration.
    """
    rows: dict[int, dict[int, Fraction]] = {}
    for a in range(limit + threshold + 1):
        values = [v for v in range(-min(a, limit), limit + 1) if a + v == 0 or a + v > threshold]
        rows[a] = {a + v: Fraction(float(p)) for v, p in zip(values, _lagrange(values, variance), strict=True)}
    return kernel_from_rows("max_entropy", rows)


def _lagrange(values: Sequence[int], variance: float) -> Sequence[float]:
    """exp(tilt v - curve v^2) with mean zero and the variance (or the largest below it), by Newton's method."""
    v = np.array(values, dtype=np.float64)
    if (v >= 0).all() or (v <= 0).all():
        return [1.0 if x == 0 else 0.0 for x in values]
    target = min(variance, 0.9 * float(-v.min() * v.max()))
    features = np.stack([v, v * v])
    goal, point = np.array([0.0, target]), np.zeros(2)
    for _ in range(500):
        logit = point @ features
        p = np.exp(logit - logit.max())
        p /= p.sum()
        gap = features @ p - goal
        if np.abs(gap).max() < 1e-13:
            break
        spread = (features * p) @ features.T - np.outer(features @ p, features @ p)
        step = np.linalg.lstsq(spread, gap, rcond=None)[0]
        point = point - step / max(1.0, np.abs(step * [v.max(), v.max() ** 2]).max() / 2)
    return [float(x) for x in p]
