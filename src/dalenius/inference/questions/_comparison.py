"""What difference, ratio and change declare alike: two selections of cells, of one release or of two."""

from typing import Any

from dalenius.core.estimate import Estimate
from dalenius.inference import parameters
from dalenius.inference.compared import Comparison
from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.observe import Source
from dalenius.inference.question import InferenceQuestion


def comparison(name: str, compare: Comparison, words: str) -> InferenceQuestion:
    """The question that compares two numbers, or all pairs along an axis; `words` are its help."""

    def ask(
        release: Source,
        first: parameters.First = parameters.ALL,
        second: parameters.Other = parameters.ALL,
        against: parameters.Against = None,
        by: parameters.By = "",
        kind: parameters.KindName = "population",
        confidence: parameters.Confidence = 0.95,
        samples: parameters.Samples = "overlapping",
    ) -> Estimate | IntervalTable:
        keywords: dict[str, Any] = {"against": against, "kind": kind, "confidence": confidence, "samples": samples}
        answer: Estimate | IntervalTable = compare(release, first, second, by=by or None, **keywords)
        return answer

    ask.__doc__ = words
    return InferenceQuestion(
        name=name,
        ask=ask,
        assumes=(parameters.POPULATION, parameters.COMPARED),
        examples=({"first": {"A": ("a0",)}, "second": {"A": ("a1",)}},),
    )
