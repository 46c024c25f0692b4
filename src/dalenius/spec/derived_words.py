"""How a derived variable came about, in a sentence for readers."""

from dalenius.core.conditions import Filter, Take
from dalenius.core.domain import Domain, Variable
from dalenius.core.rationals import plain
from dalenius.translation import translated

_TAKES = translated(
    {
        Take.ANY: "Whether some row of the person has {where}.",
        Take.ALL: "Whether every row of the person has {where}.",
        Take.COUNT: "Number of rows of the person{where}.",
        Take.SUM: "Sum of {of} over the rows of the person{where}.",
        Take.MINIMUM: "Smallest {of} among the rows of the person{where}.",
        Take.MAXIMUM: "Largest {of} among the rows of the person{where}.",
        Take.FIRST: "First {of} among the rows of the person{where}, by {by}.",
    }
)
_WORDS = translated(
    {
        "with": " with ",
        "and": " and ",
        "or": " or ",
        "table": " in the table {name}",
        "lookup": "Looked up in a public table by {column}.",
        "dated": "Looked up in a public table by {column}, as of {by}.",
        "order": "their order in the declaration",
    }
)
LANGUAGES = tuple(_WORDS)


def derivation(variable: Variable, domain: Domain, language: str = "en") -> str:
    """What is taken of a person's rows, or where a value was looked up; nothing for a plain column.

    >>> from dalenius.spec.load import load_dataset
    >>> declared = load_dataset({"dataset": {"name": "d", "population": "p"}, "unit": {"id": "person"},
    ...     "records": {"kind": {"categories": ["visit", "stay"]}},
    ...     "variables": {"stays": {"bounds": [0, 9], "feature": {"take": "count", "where": {"kind": "stay"}}}},
    ... }).domain()
    >>> derivation(declared.variable("stays"), declared)
    'Number of rows of the person with kind = stay.'
    """
    words = _WORDS.get(language, _WORDS["en"])
    if variable.lookup is not None:
        column, *days = variable.source_columns
        return words["dated" if days else "lookup"].format(column=column, by="".join(days))
    feature = variable.feature
    if feature is None:
        return ""
    conditions = words["and"].join(_condition(f, domain, words["or"]) for f in feature.where)
    place = words["table"].format(name=feature.table) if feature.table else ""
    is_whether = feature.take in (Take.ANY, Take.ALL)
    where = conditions if is_whether else place + (f"{words['with']}{conditions}" if conditions else "")
    sentence = _TAKES.get(language, _TAKES["en"])[feature.take]
    of = domain.records[feature.of].label or feature.of if feature.of else ""
    by = domain.records[feature.by].label or feature.by if feature.by else words["order"]
    return sentence.format(where=where, of=of, by=by)


def _condition(condition: Filter, domain: Domain, between: str) -> str:
    record = domain.records[condition.variable]
    name = record.label or record.name
    if not record.is_numeric:
        return f"{name} = {between.join(record.categories.labels[code] for code in condition.codes)}"
    step = record.bounds.step
    low = "" if condition.low is None else f"{plain(condition.low * step)} ≤ "
    return f"{low}{name}" + ("" if condition.high is None else f" ≤ {plain(condition.high * step)}")
