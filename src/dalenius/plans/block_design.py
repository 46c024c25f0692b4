"""How records are parted for sample and aggregate: docs/reference/methods/sample_and_aggregate.md."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import Any

from dalenius.core.query import RowsQuery, ValuesQuery
from dalenius.core.rationals import plain, rational
from dalenius.errors import ParameterError, UnknownName, Unsupported
from dalenius.measurements.blocks.blocks import MOST_BLOCKS, Blocks
from dalenius.measurements.blocks.logistic import Design, Predictor
from dalenius.measurements.blocks.models import MODELS
from dalenius.spec.question import Question

INTERCEPT, MOST_PREDICTORS = "intercept", 8
LOGISTIC, LOGISTIC_INTERCEPT = "logistic", "logistic_intercept"
_KNOWN = sorted({*MODELS, LOGISTIC_INTERCEPT})
FUNCTION, LEAST_SECONDS, MOST_SECONDS = "function", Fraction(1, 100), Fraction(60)
_LEAST_BLOCKS = 20


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What is known of a model's estimates in blocks before any data are read."""

    model: str
    records: int
    lower: float
    upper: float
    spread: float

    @property
    def variance(self) -> float:
        """Of an estimate times the number of records, a quarter up the range."""
        theta = self.lower + (self.upper - self.lower) / 4
        return max(MODELS[self.model].variance(theta, self.spread), 1e-300)

    def of_block(self, count: int) -> float:
        """Variance of the estimate of one of so many blocks; their sizes vary, too."""
        size = self.records / count
        return self.variance / size * (1 + (1 + MODELS[self.model].inflation) / size)

    def bias(self, count: int) -> float:
        """Left after the correction, and by estimates cut at the nearer end of the range."""
        size, error = self.records / count, sqrt(self.of_block(count))
        away = (self.upper - self.lower) / 4 / error
        law = NormalDist()
        cut = error * (law.pdf(away) - away * law.cdf(-away)) if away < 30 else 0.0
        model = MODELS[self.model]
        # A correction leaves what is of second order; without one the first stays.
        order = 2 if "analytic" in model.corrections else 1
        rest = 0.0 if not model.inflation else sqrt(self.variance) / size**order
        return cut + rest

    def error(self, count: int, noise: Callable[[int], float]) -> float:
        """Mean square error of the aggregate of so many blocks."""
        return self.of_block(count) / count + self.bias(count) ** 2 + noise(count)

    def best(self, noise: Callable[[int], float]) -> int:
        """The number of blocks with the least predicted error."""
        most = min(self.records // MODELS[self.model].least, MOST_BLOCKS)
        if most < 2:
            raise ParameterError(
                f"The declared size of {self.records:,} is too small for blocks of at least "
                f"{MODELS[self.model].least} records of the model {self.model!r}; write blocks to insist.",
                name="blocks",
            )
        counts, count = [], min(_LEAST_BLOCKS, most)
        while count < most:
            counts.append(count)
            count = max(count + 1, count * 21 // 20)
        return min([*counts, most], key=lambda k: self.error(k, noise))


def blocks_of(question: Question, aggregate: str) -> Blocks:
    """What is asked of every block; their number is still open."""
    name, ends = question.parameter("model"), question.parameter("clip")
    if name is None:
        raise Unsupported(f"Sample and aggregate needs model in [table]: one of {', '.join(_KNOWN)}.", key="model")
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        raise ParameterError(
            "Sample and aggregate needs clip = [lower, upper] in [table]: between which numbers the parameter "
            "lies. It is declared, never taken from the data.",
            name="clip",
        )
    lower, upper = (rational(end, "clip") for end in ends)
    if question.space.axes:
        raise Unsupported("Sample and aggregate is one number of one list of records; use where.", key="rows")
    if _model(question) not in MODELS:
        raise UnknownName.among("model", name, _KNOWN)
    name = _model(question)
    correction = _correction(question, name)
    is_central = (aggregate, correction) == ("median", "analytic")
    blocks = Blocks(
        model=name,
        count=2,
        lower=lower,
        upper=upper,
        unit=question.bounds.step,
        correction="central" if is_central else correction,
        design=_design(question) if _takes_predictors(question) else None,
    )
    return replace(blocks, **_own(question)) if name == FUNCTION else blocks


def _model(question: Question) -> str:
    """Return the model that is fitted, of which another coefficient may be asked for."""
    name = str(question.parameter("model"))
    return LOGISTIC if name == LOGISTIC_INTERCEPT else name


def _takes_predictors(question: Question) -> bool:
    """Whether records of several variables are fitted: by a regression, or by a function that is given them."""
    name = _model(question)
    is_function = name == FUNCTION and bool(question.parameter("predictors"))
    return MODELS[name].takes_predictors or is_function


def _own(question: Question) -> dict[str, Any]:
    """Which function of the custodian's own, and for how long a block runs."""
    function, seconds = question.parameter("function"), question.parameter("seconds", Fraction(1))
    if function is None:
        raise Unsupported(
            'model = "function" needs function in [table]: what curator.function(…) of the custodian\'s own program '
            "gives.",
            key="function",
        )
    if question.parameter("blocks") is None:
        raise ParameterError(
            "How many blocks are best for a function of your own is not known; write blocks.", name="blocks"
        )
    time = rational(seconds, "seconds")
    if not LEAST_SECONDS <= time <= MOST_SECONDS:
        raise ParameterError(
            f"seconds must be from {plain(LEAST_SECONDS)} to {plain(MOST_SECONDS)}, for each block; received "
            f"{plain(time)}.",
            name="seconds",
        )
    return {"function": str(function), "seconds": time}


def _correction(question: Question, name: str) -> str:
    """What the request writes, or the model's usual one; refused where the model has no such correction."""
    model, named = MODELS[name], question.parameter("correction")
    correction = str(named or model.usual or next(iter(model.corrections), "none"))
    if named is None or correction in model.corrections:
        return correction
    if correction == "firth":
        models = ", ".join(each for each in sorted(MODELS) if MODELS[each].is_firth)
        others = f" {name!r} has {' or '.join(model.corrections)}." if model.corrections else ""
        raise Unsupported(f"Firth's correction is known here for {models}.{others}", key="correction")
    raise Unsupported(f"The model {name!r} has no {correction} correction; leave it out.", key="correction")


def _predictors(question: Question) -> tuple[str, ...]:
    """Refused before data: none, one twice, the outcome itself, or a variable without bounds to spread between."""
    names = tuple(str(name) for name in question.parameter("predictors", ()))
    if not 1 <= len(names) <= MOST_PREDICTORS:
        raise Unsupported(
            f'A logistic regression needs predictors = ["variable", …] in [table], from one to {MOST_PREDICTORS}; '
            f"received {len(names)}.",
            key="predictors",
        )
    if len({question.of, *names}) <= len(names):
        raise Unsupported(
            "Outcome and predictors of a logistic regression are different variables, each named once.",
            key="predictors",
        )
    for name in names:
        bounds = question.domain.variable(name).bounds
        if bounds.low == bounds.high:
            raise Unsupported(f"The bounds of {name!r} are one number; it predicts nothing.", key="predictors")
    return names


def _design(question: Question) -> Design:
    """The declared bounds of the predictors, and which coefficient is asked for: the first one's, or the intercept."""
    names = _predictors(question)
    bounds = [question.domain.variable(name).bounds for name in names]
    return Design(
        predictors=tuple(Predictor(low=b.low, high=b.high, unit=float(b.step)) for b in bounds),
        coefficient=0 if question.parameter("model") == LOGISTIC_INTERCEPT else 1,
    )


def query_of(question: Question) -> ValuesQuery | RowsQuery:
    """The values of the variable, or rows of it with the predictors."""
    if not _takes_predictors(question):
        return ValuesQuery(value=question.of, where=question.where)
    return RowsQuery(variables=(question.of, *_predictors(question)), where=question.where)


def estimate_name(question: Question, blocks: Blocks) -> str:
    """What the number is called: a coefficient after its predictor."""
    if blocks.function:
        return f"{blocks.function.split()[0]} of {question.of}"
    name = f"{blocks.model} of {question.of}"
    if blocks.design is None:
        return name
    return f"{name}: {(INTERCEPT, *_predictors(question))[blocks.design.coefficient]}"


def prediction_of(question: Question, blocks: Blocks, count: int | None = None) -> Prediction:
    """For the declared number of records, or for blocks of the least size where only their number is known."""
    size = question.domain.public_size
    records = (count or 2) * MODELS[blocks.model].least if size is None else max(size, 1)
    width = float(question.bounds.upper - question.bounds.lower)
    if blocks.design is not None and not blocks.function:
        place = blocks.design.coefficient
        # The intercept is as uncertain as a coefficient of a predictor that is one or zero.
        chosen = blocks.design.predictors[place - 1] if place else None
        width = 6.0 if chosen is None else (chosen.high - chosen.low) * chosen.unit
    return Prediction(
        model=blocks.model, records=records, lower=float(blocks.lower), upper=float(blocks.upper), spread=width / 6
    )


def with_count(question: Question, blocks: Blocks, noise: Callable[[Prediction, int], float]) -> Blocks:
    """With the number of blocks that the request names, or the best one for the declared size."""
    named = question.parameter("blocks")
    if named is not None:
        return replace(blocks, count=int(named))
    if question.domain.public_size is None or question.where:
        raise ParameterError(
            "How many blocks are best follows from a declared size of the whole data set; write blocks where there is "
            "none, or where only some of the records are asked for.",
            name="blocks",
        )
    prediction = prediction_of(question, blocks)
    return replace(blocks, count=prediction.best(lambda count: noise(prediction, count)))
