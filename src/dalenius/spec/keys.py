"""Keys that several measures take, each declared once, and how their values are written in one spelling."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal

from dalenius.core.rationals import plain, rational
from dalenius.errors import ParameterError
from dalenius.spec.axis import Condition, ConditionPart
from dalenius.spec.document import Exact, Part, category, usual

HALF = Fraction(1, 2)
_ENDS = ("at_least", "at_most")


class ErrorKey(Part):
    error: Literal["noise", "sampling", "bootstrap"] | None = usual(
        None,
        "Which error is stated beside that of the noise: sampling, from a part of the budget; bootstrap, from "
        "resampled files; or noise alone. Left out, it is sampling, and noise of a plain total.",
    )


class ClipKey(Part):
    clip: Exact | tuple[Exact, ...] | None = usual(
        None,
        "Where numbers are clipped before they are added up: values of records and estimates of blocks between two "
        "numbers, what a person adds at one. Of more than these some are chosen.",
    )


class LearnKey(Part):
    learn: Exact | None = usual(
        None,
        "The share of the budget by which a first step learns from the data how the second one is made: at which of "
        "the numbers in clip it clips, or, a quarter if left out, which groups it refines.",
    )


class BeyondKey(Part):
    beyond: Exact | None = usual(
        None,
        "The share of records or persons that may lie beyond a whisker or a learned bound: a hundredth where bounds of "
        "a mean are learned, else a twentieth, if left out.",
    )


class ShareKey(Part):
    q: Exact | tuple[Exact, ...] | None = usual(
        None,
        "Which quantiles: a share of the records, a list of shares, or a whole number of equal parts (4 for quartiles, "
        "10 for deciles). The median or the quartiles if left out.",
    )


class AmongKey(Part):
    among: Condition | None = usual(
        None, "Which values of the variable are counted or have the property: a condition as in where."
    )


class MethodKey(Part):
    method: str | None = usual(
        None,
        "The mechanism that finds a cell (exponential, permute_and_flip), or an order statistic without an interval "
        "(exponential, unbounded, lomax, …). Left out, it is exponential for cells, and the certified selection.",
    )


class ModelKey(Part):
    model: str | None = usual(
        None, "What is fitted: a distribution (gaussian, poisson, …), a median, a regression, a mixture, …"
    )


class ClampKey(Part):
    clamp: str | None = usual(None, "How a count at the actual data is cut: none, size or data.")


def one_share(q: object) -> Fraction:
    """Return the one quantile that `q` names, the median where it names none."""
    if isinstance(q, list | tuple):
        raise ParameterError('q is one share here; for several ask for measure = "quantiles".', name="q")
    return HALF if q is None else rational(q, "q")


def condition_of(written: object) -> Condition:
    """Return a condition that was written as a key: ends, or categories."""
    if isinstance(written, Mapping):
        return ConditionPart(
            **{name: rational(part, name) if name in _ENDS else part for name, part in written.items()}
        )
    return tuple(written) if isinstance(written, list | tuple) else (str(written),)


def canonical_condition(keys: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the keys with this condition in one spelling: exact ends, or categories once each and in order."""
    written = keys.get(name)
    if written is None:
        return dict(keys)
    if isinstance(written, ConditionPart):
        written = written.model_dump(exclude_none=True)
    if isinstance(written, Mapping):
        canonical: Any = {
            name: plain(rational(part, name)) if name in _ENDS else sorted(part) if name == "groups" else part
            for name, part in sorted(written.items())
        }
    else:
        canonical = sorted({category(label) for label in (written if isinstance(written, list | tuple) else [written])})
    return {**keys, name: canonical}
