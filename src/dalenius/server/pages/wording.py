"""Sentences and names for readers: titles of tables, amounts, methods, guarantees."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from math import isfinite, log, sqrt
from typing import Any

from dalenius.core.rationals import plain
from dalenius.core.release import Condition, Subject
from dalenius.errors import DaleniusError
from dalenius.server import messages
from dalenius.server.messages import translate
from dalenius.server.pages.state import AxisChoice, TableState
from dalenius.server.services import Services
from dalenius.server.views import DatasetView, Preview, ReleaseView
from dalenius.shown import speech
from dalenius.shown.words import number
from dalenius.spec.guarantees import told
from dalenius.spec.method import find_method
from dalenius.spec.notes import in_language
from dalenius.translation import number_marks

_PLAIN = re.compile(r"[+-]?\d*\.?\d*([eE][+-]?\d+)?")
_THIN = "\u202f"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Numbers:
    def __init__(self, language: str = "en") -> None:
        self.language = language
        self._group, self._point = tuple(number_marks(",.", language))

    def num(self, value: object, digits: int | None = None) -> str:
        """A number with grouped thousands; whole numbers without decimals unless `digits` says otherwise.

        >>> Numbers().num(1234567.0), Numbers("de").num(-1234.56, 1), Numbers().num(None)
        ('1,234,567', '−1.234,6', '–')
        """
        if value is None or not isfinite(float(value)):  # type: ignore[arg-type]
            return "–"
        amount = float(value)  # type: ignore[arg-type]
        if digits is None:
            digits = 0 if amount.is_integer() or abs(amount) >= 1000 else 1 if abs(amount) >= 10 else 2
        return number(amount, digits, self.language)

    def percent(self, value: float, digits: int = 1) -> str:
        """A share of one as a percentage.

        >>> [Numbers().percent(0.1234).split(), Numbers("de").percent(0.5, 0).split()]
        [['12.3', '%'], ['50', '%']]
        """
        return f"{self.num(value * 100, digits)}{_THIN}%"

    def amount(self, value: object) -> str:
        """A privacy amount for readers: four significant digits; the exact value is in the documents.

        >>> numbers = Numbers()
        >>> numbers.amount("0.0125"), Numbers("de").amount("1/3"), numbers.amount(None), numbers.amount("1e-6")
        ('0.0125', '0,3333', '–', '10⁻⁶')
        """
        if value is None or value == "":
            return "–"
        text = f"{float(Fraction(str(value))):.4g}"
        if "e" in text:
            mantissa, _, power = text.partition("e")
            tens = "10" + str(int(power)).translate(_RAISED)
            text = tens if mantissa == "1" else f"{mantissa}\u202f×\u202f{tens}"
        return text.replace(".", self._point)

    def typed(self, value: object) -> str:
        """An exact number as a reader of the language would type it; anything else as it is.

        >>> [Numbers("de").typed(text) for text in ("0.5", "1e-9", "a.b")], Numbers().typed("0.5")
        (['0,5', '1e-9', 'a.b'], '0.5')
        """
        written = str(value)
        return written.replace(".", self._point) if _PLAIN.fullmatch(written) else written

    def read(self, text: str) -> str:
        """A number that a reader typed, as documents write it; anything else is left for the document to refuse.

        A group of thousands is accepted where it cannot be a decimal.

        >>> [Numbers("de").read(text) for text in ("0,5", "1.234,5", "12.000", "0.125", "1e-9", "1,5e-9", "a,b")]
        ['0.5', '1234.5', '12000', '0.125', '1e-9', '1.5e-9', 'a,b']
        >>> Numbers().read("0,5")
        '0,5'
        """
        group, point, written = self._group, self._point, text.strip()
        if point == ".":
            return written
        if re.fullmatch(rf"[+-]?[1-9]\d{{0,2}}(\{group}\d{{3}})+({point}\d+)?", written):
            written = written.replace(group, "")
        if group not in written and written.count(point) == 1 and _PLAIN.fullmatch(written.replace(point, ".")):
            return written.replace(point, ".")
        return written

    def when(self, value: object) -> str:
        """A time, given as seconds or as ISO text, to the minute and in UTC.

        >>> Numbers().when(0.0), Numbers("de").when("2026-03-01T10:05:00Z")
        ('1 Jan 1970, 00:00 UTC', '1. März 2026, 10:05 UTC')
        """
        if value in (None, ""):
            return "–"
        if isinstance(value, int | float):
            when = datetime.fromtimestamp(value, UTC)
        else:
            try:
                when = datetime.fromisoformat(str(value))
            except ValueError:
                return str(value)
        month = translate(self.language, "date.months").split()[when.month - 1]
        time = f"{when:%H:%M}"
        return translate(self.language, "date.moment", day=when.day, month=month, year=when.year, time=time)


_FOR_TEMPLATES = (
    *("t", "num", "amount", "typed", "limits", "when", "known", "refusal", "note", "budget_text", "release_title"),
    *("dataset_title", "measure_in_menu", "measure_kind", "translate_label", "level_name", "stored"),
)
_OPEN = Subject()


class Wording(Numbers):
    """Speaks one language about the data sets of one server."""

    def __init__(self, language: str, services: Services) -> None:
        super().__init__(language)
        self._services = services

    def t(self, key: str, /, **values: object) -> str:
        return messages.translate(self.language, key, **values)

    def names(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _FOR_TEMPLATES}

    def limits(self, cuts: Sequence[str]) -> str:
        """Class limits, for a form's field: between semicolons where the comma is decimal."""
        return (", " if self.typed("0.5") == "0.5" else "; ").join(self.typed(cut) for cut in cuts)

    def refusal(self, code: str, message: str) -> dict[str, str]:
        """A refusal in the reader's language by its code, with the message itself as a detail."""
        sentence = messages.refusals(self.language).get(code)
        return {"text": sentence, "detail": message} if sentence else {"text": message, "detail": ""}

    def budget_text(self, budget: Mapping[str, Any]) -> str:
        """What a release spent under its own definition: ε = 0.5, or ε and δ, or ρ."""
        signs = (("epsilon", "ε"), ("delta", "δ"), ("rho", "ρ"))
        return ", ".join(f"{sign} = {self.amount(budget[key])}" for key, sign in signs if budget.get(key))

    def known(self, kind: str, name: str) -> str:
        """A registered name as readers know it; one that has no translation keeps its own."""
        text = self.t(f"{kind}.{name}")
        return str(name).replace("_", " ") if text == f"{kind}.{name}" else text

    def dataset_title(self, name: str) -> str:
        dataset = self._dataset(name)
        return (dataset.title or dataset.name) if dataset else name

    def _dataset(self, name: str) -> DatasetView | None:
        try:
            return self._services.reading.dataset(name).in_language(self.language)
        except DaleniusError:
            return None

    def label(self, dataset: DatasetView | None, variable: str) -> str:
        variable_view = dataset.in_language(self.language).variable(variable) if dataset else None
        if variable_view is None:
            return speech.added_axis(variable, self.language)
        return variable_view.label or variable_view.name

    def translate_label(self, dataset: DatasetView | None, variable: str, label: str) -> str:
        return dataset.translate_label(self.language, variable, label) if dataset else label

    def level_name(self, dataset: DatasetView | None, level: str) -> str:
        return dataset.level_name(self.language, level) if dataset else level

    def spoken(self, dataset: DatasetView | None, subject: Subject, axes: Iterable[str] = ()) -> Subject:
        """A subject in the reader's words, which names these axes; what nobody translated stays as it is."""
        conditions = (*subject.where, *subject.within)
        asked = {subject.of, subject.weight, *subject.other.split(", "), *(each.variable for each in conditions)}
        labels = dict(subject.labels)
        for name in {*labels, *asked, *axes, *subject.order} - {""}:
            variable, _, level = name.partition(".")
            own = self.label(dataset, variable)
            label = subject.label(variable) if own == variable else own
            labels[name] = f"{label} ({self.level_name(dataset, level)})" if level else label
        return replace(
            subject,
            labels=labels,
            where=tuple(self.condition(dataset, condition) for condition in subject.where),
            within=tuple(self.condition(dataset, condition) for condition in subject.within),
        )

    def measure(self, dataset: DatasetView | None, subject: Subject) -> str:
        """What a cell shows; the subject says of what, and what else a measure asks for."""
        return speech.measured(self.spoken(dataset, subject), self.language)

    def measure_in_menu(self, dataset: DatasetView, measure: str, of: str) -> str:
        names = {"of": self.label(dataset, of), "other": "…", "within": "…"}
        return speech.title_of(measure, self.language, **names, subject=Subject(q="…"))

    def measure_kind(self, measure: str) -> str:
        """What measures of several variables have in common."""
        return speech.title_of(measure, self.language, of="…", other="…", within="…")

    def condition(self, dataset: DatasetView | None, condition: Condition) -> Condition:
        kept = tuple(self.translate_label(dataset, condition.variable, label) for label in condition.kept)
        return replace(condition, kept=kept)

    def expected(self, dataset: DatasetView, method: str, preview: Preview) -> list[str]:
        errors = {"std_error": preview.std_error, "half_width_95": preview.half_width_95}
        content = {**preview.details, **{k: v for k, v in errors.items() if v is not None}}

        def label(axis: str) -> str:
            return self.spoken(dataset, _OPEN, [axis]).labels[axis]

        return speech.expectation(method, content, self.num, self.language, label)

    def title(self, dataset: DatasetView | None, subject: Subject, axes: Sequence[str]) -> str:
        spoken = self.spoken(dataset, subject, axes)
        return speech.entitled(spoken, speech.measured(spoken, self.language), axes, self.language)

    def release_title(self, view: ReleaseView) -> str:
        if view.request.get("tables"):
            return self.t("release.batch", n=len(view.request["tables"]))
        subject, dataset = Subject.derived(view.request), self._dataset(view.dataset)
        title = self.title(dataset, subject, view.variables)
        conditions = self.conditions(dataset, view.request)
        return f"{title} ({'; '.join(conditions)})" if conditions else title

    def conditions(self, dataset: DatasetView | None, described: Mapping[str, Any]) -> list[str]:
        """Conditions of a canonical request in words; its ends are counted in declared steps."""
        sentences = []
        for condition in described.get("where", ()):
            name = str(condition["variable"])
            if "categories" in condition:
                sentences.append(self._kept(dataset, name, map(str, condition["categories"])))
                continue
            variable = dataset.variable(name) if dataset else None
            step = Fraction(variable.step) if variable and variable.step else Fraction(1)
            ends = [condition.get("low"), condition.get("high")]
            sentences.append(self._between(dataset, name, ["" if end is None else plain(end * step) for end in ends]))
        return sentences

    def _kept(self, dataset: DatasetView | None, variable: str, labels: Iterable[str]) -> str:
        kept = (self.translate_label(dataset, variable, label) for label in labels)
        return f"{self.label(dataset, variable)}: {', '.join(kept)}"

    def _between(self, dataset: DatasetView | None, variable: str, ends: Iterable[str]) -> str:
        low, high = (self.typed(end) or "…" for end in ends)
        return f"{self.label(dataset, variable)}: {low} – {high}"

    def request_title(self, dataset: str, request: Mapping[str, Any]) -> str:
        if request.get("title"):
            return str(request["title"])
        table = request.get("table", {})
        if isinstance(table, list):
            return self.t("release.batch", n=len(table))
        items = [*table.get("rows", ()), *table.get("columns", ()), *table.get("layers", ())]
        names = [AxisChoice.of_item(item).name for item in items]
        subject = Subject.derived({**{key: table.get(key) for key in ("measure", "of", "weight")}, "keys": table})
        return self.title(self._dataset(dataset), subject, names)

    def state_title(self, dataset: DatasetView, state: TableState) -> str:
        if state.title:
            return state.title
        if state.is_empty:
            return self.t("builder.new")
        return self.title(dataset, state.subject(), [choice.name for choice in state.choices])

    def choice(self, dataset: DatasetView, choice: AxisChoice) -> str:
        if choice.cuts:
            return self.limits(choice.cuts)
        if choice.level == "*":
            return self.t("builder.groups_n", n=len(choice.groups))
        if choice.level:
            return self.level_name(dataset, choice.level)
        variable = dataset.variable(choice.variable)
        everything = len(variable.categories) if variable else 0
        if choice.picks:
            return self.t("builder.some", k=len(choice.picks), n=everything)
        return self.t("builder.all", n=everything)

    def filters(self, dataset: DatasetView, state: TableState) -> list[str]:
        texts = [self._kept(dataset, name, labels) for name, labels in state.where.items()]
        return texts + [self._between(dataset, name, ends) for name, ends in state.ranges.items()]

    def note(self, sentence: str) -> dict[str, str]:
        """A stored remark in the reader's language, with the language that it is in."""
        spoken = in_language(sentence, self.language)
        return {"text": spoken, "language": self.language} if spoken else {"text": sentence, "language": "en"}

    def unit(self, neighbours: Mapping[str, Any]) -> str:
        name, rows = str(neighbours.get("unit", "row")), neighbours.get("max_rows", 1)
        unit = self.known("unit", name)
        if neighbours.get("relation") == "replace":
            return self.t("dataset.unit_replace", unit=unit)
        return self.t("dataset.unit_row") if unit == "row" else self.t("dataset.unit_person", unit=unit, rows=rows)

    def design(self, dataset: DatasetView, state: TableState | None = None) -> str:
        """How records were drawn; of a table being built, only where it asks for an error of sampling."""
        if state is not None and state.weight and not dataset.draws:
            return self.t("design.weighted")
        is_asked = state is None or state.weight or find_method(state.measure).takes_of
        return self.t(f"design.{dataset.draws or 'unstated'}") if is_asked else ""

    def stored(self, sentences: str) -> str:
        return told(sentences, self.language)


def concentrated_epsilon(rho: Fraction, delta: float = 1e-6) -> float:
    """The usual upper bound on epsilon at delta for rho-zCDP, for readers: rho + 2 sqrt(rho log(1/delta)).

    >>> round(concentrated_epsilon(Fraction(1, 2)), 3)
    5.757
    """
    return float(rho) + 2 * sqrt(float(rho) * log(1 / delta))


def share(part: object, whole: object) -> str:
    total = Fraction(str(whole))
    return f"{min(max(float(Fraction(str(part)) / total), 0.0), 1.0):.4f}" if total else "0"
