"""How tables are spoken of: title, conditions, caption and what to expect, in the methods' own words.

One piece of code for the terminal, pages, files and charts. A caption claims a margin of error only where the table has
one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf, isfinite
from statistics import NormalDist
from typing import Any

import numpy as np

from dalenius.algebra.tabulation import CARE, UNRELIABLE
from dalenius.core import registry
from dalenius.core.budget import Cost
from dalenius.core.domain import Axis
from dalenius.core.estimate import level
from dalenius.core.law import Thinned
from dalenius.core.plan import margin_of_error
from dalenius.core.release import ADDITIVE, Release, Subject, Table
from dalenius.shown.answers import is_one_number, labelled
from dalenius.shown.display import INEXACT, WHOLE, Display
from dalenius.spec.document import DEFAULT_MEASURE
from dalenius.spec.method import AnswerKind, Words, counts_records, find_method
from dalenius.translation import number_marks, texts

DEFAULT = "en"
# Tables that are shown beside what was asked for, and the methods whose words they speak.
_BESIDE = {"weighted count": "count", "interquartile range": "interquartile"}
# Axes that a method adds to those that were asked for.
_ADDED = {"quantile": texts("quantile"), "at most": texts("at most"), "parameter": texts("parameter")}
_BY = texts("{measure} by {names}")
_WEIGHTED = texts("{measure} (weighted by {weight})")
_ONLY = texts("{title}, only {conditions}")
_INTERVAL = texts("Below each number stands its interval, {level}.")
_MARKED = {
    (UNRELIABLE, True): texts(
        "‡ unreliable: its margin of error reaches 0, or its standard error exceeds a third of it."
    ),
    (UNRELIABLE, False): texts("‡ not told apart from 0: its margin of error reaches 0."),
    (CARE, True): texts("† use with care: its standard error exceeds a sixth of it."),
}
_BOUND = texts("The bound that was used, as it was chosen; the noise of the answer follows it.")
_UNKNOWN = texts("Without a margin of error: the size of the noise depends on the data and is withheld.")
_MOVED = texts("Without a margin of error: the numbers were moved to agree with others.")
_ROUNDED = {
    WHOLE: texts("Shown as whole numbers that add up; the release holds them unrounded."),
    INEXACT: texts("Rounded for reading: sums may differ in the last digit."),
}
_SAMPLED = texts("The margin with sampling is for the process behind the records: privacy noise and sampling together.")
_SAMPLED_IF = texts(
    "The margin with sampling is for the process behind the records, {condition}: privacy noise and sampling together."
)
_DRAWN = {False: texts("the records were drawn independently"), True: texts("the units were drawn independently")}
_CONDITION = texts("if {assumed}")
_EXPECTED_WITH_SAMPLING = texts(
    "With sampling, for the process behind the records: ± {error} (95 %), if values are spread evenly over the bounds."
)
_BY_TAIL = texts("By where values lie: {margins}.")
_LEARNED = texts(
    'With learn = "1/5", at the same price and for values cut to bounds that are chosen from the data: {margins}.'
)
_TAILS = {
    "1": texts("± {error} if they are spread over all of the bounds"),
    "1/10": texts("± {error} if 99 of 100 lie in the lowest tenth of them"),
    "1/100": texts("± {error} if 99 of 100 lie in the lowest hundredth"),
}
# Margins that differ by less are not told apart.
_APART = 1.5
_OF_SERIES = texts(
    "{waves} waves share this budget: with its noise alone a level is off by at most ± {level} (95 %), and a "
    "change between two waves by at most ± {change}."
)
# By whether estimates are expected, and whether there are several.
_OF_CELLS = {
    (False, True): texts("Expect a cell of {names} to be off by at most ± {error} (95 %)."),
    (False, False): texts("Expect the total to be off by at most ± {error} (95 %)."),
    (True, True): texts(
        "In a cell of {records} records of {names}, expect the estimate to be off by at most ± {error} (95 %)."
    ),
    (True, False): texts("Of {records} records in all, expect the estimate to be off by at most ± {error} (95 %)."),
}
_OF_SAMPLE = texts(
    "In a cell of {records} records, expect the count to be off by at most ± {error} (95 %), by secret sampling "
    "and noise together; in larger cells by more."
)
_CAPTION_OF_SAMPLE = texts("± is the margin of error from secret sampling and privacy noise together, {level}.")
_BATCH = texts("Batch of {tables} tables")
_BATCH_PRICE = texts("All tables are charged as one: {price}. One by one they would cost {single}.")
_BATCH_EPSILON = texts("With the same noise, released one by one, they would state epsilon {epsilon} together.")
_PER = texts("(per {n})")
_WHICH = {"largest": texts("largest"), "smallest": texts("smallest")}
_OPEN = Subject()
Show = Callable[[float], str]


def words_of(method: str, language: str = DEFAULT) -> Words:
    """A method's words; English where it does not speak the language, its name where it is not installed here."""
    if method not in registry.names("methods"):
        return replace(words_of(DEFAULT_MEASURE, language), title=f"{method.replace('_', ' ').capitalize()} {{of}}")
    every: Mapping[str, Words] = registry.get("methods", method).words
    return every.get(language, every[DEFAULT])


def said(texts: Mapping[str, str], language: str) -> str:
    return texts.get(language, texts[DEFAULT])


def method_of(release: Release, table: Table) -> str:
    """The method whose words a table speaks: the release's own, or that of a count beside a mean."""
    asked, other = release.about.measure, _BESIDE.get(table.measure, table.measure)
    is_other = other != asked and other in registry.names("methods")
    return other if is_other and release.tables and table is not release.tables[0] else asked


def as_read(release: Release, language: str = DEFAULT) -> Release:
    """The release with the labels of its answers in words; itself where they are as asked for."""
    if release.members:
        return release.with_members([as_read(member, language) for member in release.members])
    return labelled(release, lambda table: measured(release.about, language, method_of(release, table)))


def title_of(
    method: str, language: str = DEFAULT, *, of: str = "", other: str = "", within: str = "", subject: Subject = _OPEN
) -> str:
    """A method's title with the names of its variables and the words of a property; the rest as its subject says.

    >>> title_of("quantile", of="income", subject=Subject(q="0.25")), title_of("quantile", "de", of="Einkommen")
    ('Quantile 0.25 of income', 'Quantil von Einkommen')
    """
    names = {
        "of": of,
        "other": other,
        "within": within,
        "q": number_marks(subject.q, language),
        "per": said(_PER, language).format(n=subject.per) if subject.per not in ("", "1") else "",
        "which": said(_WHICH[subject.which or "largest"], language),
    }
    return " ".join(words_of(method, language).title.format(**names).split())


def measured(subject: Subject, language: str = DEFAULT, method: str = "") -> str:
    """What a cell shows: "Mean of Income"."""
    method = method or subject.measure
    text = title_of(
        method,
        language,
        of=subject.label(subject.of),
        other=subject.label(subject.other),
        within="; ".join(condition.text for condition in subject.within),
        subject=subject,
    )
    if not subject.weight:
        return text
    return said(_WEIGHTED, language).format(measure=text, weight=subject.label(subject.weight))


def unit_of(release: Release, table: Table) -> str:
    """The unit of a table's numbers; numbers of records have none."""
    method = method_of(release, table)
    is_count = counts_records(method) or counts_records(table.measure)
    return release.about.unit if find_method(method).answer is AnswerKind.VALUE and not is_count else ""


def added_axis(name: str, language: str = DEFAULT) -> str:
    """What an axis is called that no declaration names.

    >>> added_axis("at most", "de"), added_axis("town", "de")
    ('höchstens', 'town')
    """
    return said(_ADDED[name], language) if name in _ADDED else name


def name_of(subject: Subject, axis: str, language: str = DEFAULT) -> str:
    """What an axis is called, given its name: a variable, or "variable.level"."""
    variable, _, level_name = axis.partition(".")
    label = subject.labels.get(variable) or added_axis(variable, language)
    return subject.labels.get(axis) or (f"{label} ({level_name})" if level_name else label)


def codes_of(subject: Subject, axis: Axis) -> Mapping[str, str]:
    """The declared code of each label of an axis; nothing where labels are their own codes, and for groups."""
    codes = {} if axis.level else subject.codes.get(axis.variable, {})
    return codes if any(label in codes for label in axis.labels) else {}


def headline(subject: Subject, axes: Sequence[Axis], language: str = DEFAULT, what: str = "") -> str:
    """What is shown, by what: "Mean of Income by District, Sex", axes in the order in which they were asked for."""
    names = [axis.name for axis in in_order(subject, axes)]
    return entitled(subject, what or measured(subject, language), names, language)


def entitled(subject: Subject, what: str, axes: Sequence[str], language: str = DEFAULT) -> str:
    """A measure by axes, which are given by their names."""
    names = ", ".join(name_of(subject, axis, language) for axis in axes)
    return said(_BY, language).format(measure=what, names=names) if names else what


def heading(release: Release, table: Table, language: str = DEFAULT) -> str:
    return headline(release.about, classified(release, table), language, shown_measure(release, table, language))


def titled(release: Release, table: Table, language: str = DEFAULT) -> str:
    """The heading of a table with the unit of its numbers, and which rows are counted."""
    unit, only = unit_of(release, table), "; ".join(conditions(release.about))
    title = heading(release, table, language) + (f" ({unit})" if unit else "")
    return said(_ONLY, language).format(title=title, conditions=only) if only else title


def titles(release: Release, language: str = DEFAULT) -> list[str]:
    """The title of every table, part by part; tables that differ in their groups alone are numbered."""
    own = [titled(part, table, language) for part in release.parts for table in part.tables]
    same = Counter(own)
    return [
        f"{title} ({own[: place + 1].count(title)})" if same[title] > 1 else title for place, title in enumerate(own)
    ]


def title_of_release(release: Release, language: str = DEFAULT) -> str:
    """A release that nobody titled: its first table in a few words, or how many tables were charged as one."""
    if release.members:
        return said(_BATCH, language).format(tables=len(release.members))
    return titled(release, release.table, language)


def classified(release: Release, table: Table) -> tuple[Axis, ...]:
    """The axes by which a table is broken down: none where its one label names a number."""
    return () if is_one_number(release, table) else table.space.axes


def shown_measure(release: Release, table: Table, language: str = DEFAULT) -> str:
    method = method_of(release, table)
    if release.tables and table is not release.tables[0] and _BESIDE.get(table.measure, table.measure) != method:
        # A second table that no method asks for, such as the squared weights of a weighted count, has its own name.
        return table.measure.capitalize()
    return measured(release.about, language, method)


def in_order(subject: Subject, axes: Sequence[Axis]) -> list[Axis]:
    places = {name: place for place, name in enumerate(subject.order)}
    by_variable = {name.partition(".")[0]: place for name, place in places.items()}
    return sorted(axes, key=lambda a: places.get(a.name, by_variable.get(a.variable, len(places))))


def conditions(subject: Subject) -> list[str]:
    """Which rows are counted: "Labour status: employee"."""
    return [f"{subject.label(condition.variable)}: {condition.text}" for condition in subject.where]


def has_error(table: Table) -> bool:
    """Whether any cell that was measured has a published error."""
    drawn = np.delete(table.variance, list(table.space.structural_indices))
    return bool(np.isfinite(drawn).any())


def has_sampling(table: Table) -> bool:
    """Whether an error with sampling was estimated for any cell."""
    return table.sampled is not None and bool(np.isfinite(table.sampled).any())


def caption(
    release: Release,
    table: Table,
    confidence: float = 0.95,
    language: str = DEFAULT,
    *,
    is_interval: bool = False,
    is_sampled: bool | None = None,
) -> str:
    """What stands under a table: the method's words where it has an error, never a claim of one it lacks.

    `is_sampled` says whether a cell that stands in it has an error with sampling.
    """
    method = method_of(release, table)
    if any(a.get("name") == "anchor" for a in release.adjustments):
        return said(_MOVED, language)
    if table.measure == "bound" and not has_error(table):
        return said(_BOUND, language)
    if not has_error(table) and find_method(method).has_error:
        return said(_UNKNOWN, language)
    if has_error(table) and not find_method(method).has_error:
        method = DEFAULT_MEASURE
    stated = level(confidence).replace("%", " %")
    if is_interval:
        return said(_INTERVAL, language).format(level=stated)
    if isinstance(release.law, Thinned):
        return said(_CAPTION_OF_SAMPLE, language).format(level=stated)
    text = words_of(method, language).caption.format(level=stated)
    has_both = has_sampling(table) if is_sampled is None else is_sampled
    return f"{text} {_sampled(release, language)}" if has_both else text


def _sampled(release: Release, language: str) -> str:
    """What the margin with sampling is for: independent draws are assumed where no design is declared."""
    if release.provenance.draws:
        return said(_SAMPLED, language)
    has_several = int(release.provenance.neighbours.get("max_rows", 1)) > 1
    condition = said(_CONDITION, language).format(assumed=said(_DRAWN[has_several], language))
    return said(_SAMPLED_IF, language).format(condition=condition)


def remarks(display: Display, marks: Iterable[str], language: str = DEFAULT) -> list[str]:
    """What was done to the numbers for reading, and what their marks mean; nothing of what is not there."""
    is_sum = display.table.measure in ADDITIVE
    marked = [text for (mark, sums), text in _MARKED.items() if mark in marks and sums is is_sum]
    rounded = [_ROUNDED[display.rounding]] if display.rounding else []
    return [said(text, language) for text in (*rounded, *marked)]


def expectation(
    method: str, preview: Mapping[str, Any], show: Show, language: str = DEFAULT, label: Callable[[str], str] = str
) -> list[str]:
    """What error to expect, known before data are read: a sentence, one for each margin, and one for a series."""
    sentences = _of_table(method, preview, show, language, label)
    if isfinite(preview.get("change_half_width_95", inf)):
        level, change = (show(preview[f"{name}_half_width_95"]) for name in ("level", "change"))
        series = said(_OF_SERIES, language).format(waves=preview["waves"], level=level, change=change)
        sentences.append(series)
    return sentences


def is_margin_of_error(method: str) -> bool:
    """Whether what a method's preview tells beforehand is how far its numbers are off, and not a shortfall."""
    return "± {error}" in words_of(method, DEFAULT).preview


def _of_table(
    method: str, preview: Mapping[str, Any], show: Show, language: str, label: Callable[[str], str]
) -> list[str]:
    if preview.get("tables"):
        return _of_batch(preview, show, language)
    if preview.get("margins"):
        return [
            said(_OF_CELLS["records" in margin, bool(margin["axes"])], language).format(
                names=" × ".join(label(name) for name in margin["axes"]),
                error=show(margin_of_error(margin)),
                records=show(margin.get("records", 0)),
            )
            for margin in preview["margins"]
        ]
    if preview.get("sample"):
        records, shown = show(preview["records"]), show(margin_of_error(preview))
        return [said(_OF_SAMPLE, language).format(records=records, error=shown)]
    words, error = words_of(method, language), margin_of_error(preview)
    if "ranks" not in preview:
        error = float(preview.get("half_width_95_at_most", error))
    if "{error}" not in words.preview:
        return [words.preview]
    if not isfinite(error):
        return [said(_UNKNOWN, language)]
    expected = {name: show(preview.get(name, 0)) for name in ("records", "ranks")}
    sentences = [words.preview.format(error=show(error), **expected), *_by_upper_tail(preview, show, language)]
    if preview.get("std_error_with_sampling") is not None:
        normal = NormalDist().inv_cdf(0.975) * float(preview["std_error_with_sampling"])
        wider = float(preview.get("half_width_95_with_sampling", normal))
        sentences.append(said(_EXPECTED_WITH_SAMPLING, language).format(error=show(wider)))
    return sentences


def _by_upper_tail(preview: Mapping[str, Any], show: Show, language: str) -> list[str]:
    """What to expect where the upper tail of the values lies at all, a tenth or a hundredth of the bounds."""
    sentences = []
    for key, sentence in (("by_upper_tail", _BY_TAIL), ("by_upper_tail_with_learned_bounds", _LEARNED)):
        margins = {part["upper_tail"]: float(part["half_width_95"]) for part in preview.get(key, ())}
        finite = {tail: margin for tail, margin in margins.items() if isfinite(margin)}
        if len(finite) > 1 and max(finite.values()) >= _APART * min(finite.values()):
            parts = [said(_TAILS[tail], language).format(error=show(margin)) for tail, margin in finite.items()]
            sentences.append(said(sentence, language).format(margins=", ".join(parts)))
    return sentences


def _of_batch(preview: Mapping[str, Any], show: Show, language: str) -> list[str]:
    costs = [Cost.from_dict(preview[key]) for key in ("cost", "sum_of_single_costs")]
    sentences = [said(_BATCH_PRICE, language).format(price=costs[0], single=costs[1])]
    if preview.get("epsilon_one_by_one") is not None:
        epsilon = f"{preview['epsilon_one_by_one']:.3g}"
        sentences.append(said(_BATCH_EPSILON, language).format(epsilon=epsilon))
    return sentences
