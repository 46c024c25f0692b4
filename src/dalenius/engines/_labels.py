"""Texts that are not declared, and the number of units that have each: the same on every engine.

A text is a label if it can be printed, is not blank and has at most a hundred characters; any other counts nowhere,
whatever else the data hold. Texts are equal if they are equal letter by letter. Each unit counts once for a label and
in at most `most` of them: of a person who has more, the first in the order of a keyed hash of (variable, person, text)
stay. That depends on nobody else and on no order of rows, so that one person more or less changes at most `most`
numbers, each by one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from struct import pack

from dalenius.core.domain import Categories, Domain
from dalenius.core.query import Labels, LabelsQuery
from dalenius.errors import DocumentError, InternalError
from dalenius.spec.coding import canonical_text

LONGEST_LABEL = 100
# What decoders write for bytes that are no text: two different texts would look alike.
_REPLACED = "\N{REPLACEMENT CHARACTER}"


def check_texts(domain: Domain, is_text: Mapping[str, bool]) -> None:
    """Refuse an unlisted variable whose column holds no text: only of texts do different ones surely differ."""
    for variable in domain.variables.values():
        if variable.is_unlisted and not is_text[variable.source_column]:
            raise DocumentError(
                f"The variable {variable.name!r} is declared as unlisted, and its column does not hold text."
            )


def label_reader(categories: Categories) -> Callable[[object], bool]:
    """Whether a raw value is a label: a printable text that is neither declared nor the name of something declared."""
    declared = {*categories.labels, *categories.texts, *categories.missing_codes}

    def is_label(value: object) -> bool:
        return (
            isinstance(value, str)
            and len(value) <= LONGEST_LABEL
            and value.isprintable()
            and bool(value.strip())
            and _REPLACED not in value
            and value not in declared
        )

    return is_label


def counted_labels(
    domain: Domain,
    secret: bytes,
    query: LabelsQuery,
    *,
    counts: Iterable[tuple[object, int]] = (),
    pairs: Iterable[tuple[object, object]] = (),
) -> Labels:
    """From texts of units within the bound, with their numbers, and from (person, text) of whoever may be beyond it."""
    variable = domain.variable(query.variable)
    if not variable.is_unlisted:
        raise InternalError("Texts of a variable that is not declared as unlisted are for nobody.")
    is_label = label_reader(variable.categories)
    numbers: Counter[str] = Counter()
    for value, number in counts:
        if is_label(value):
            numbers[str(value)] += int(number)
    persons: dict[str, set[str]] = {}
    for unit, value in pairs:
        person = canonical_text(unit)
        if person is not None and is_label(value):
            persons.setdefault(person, set()).add(str(value))
    key = blake2b(blake2b(secret).digest(), digest_size=32, person=b"dalenius-labels").digest()
    for person, texts in persons.items():
        numbers.update(_kept(key, query, person, texts))
    return tuple(sorted(numbers.items()))


def _kept(key: bytes, query: LabelsQuery, person: str, texts: set[str]) -> Iterable[str]:
    if len(texts) <= query.most:
        return texts
    names = [name.encode("utf-8", "surrogateescape") for name in (query.variable, person)]
    head = b"".join(pack("<q", len(name)) + name for name in names)

    def place(text: str) -> tuple[bytes, str]:
        return blake2b(head + text.encode(), key=key, digest_size=16).digest(), text

    return sorted(texts, key=place)[: query.most]


def label_statements(unit: str, text: str, relation: str, most: int) -> tuple[str, str]:
    """SQL for the texts of persons within the bound with their numbers, and for (person, text) of those beyond it."""
    rows = f"(SELECT {unit} AS u, {text} AS v FROM {relation})"
    each = f"(SELECT DISTINCT u, v FROM {rows} q WHERE u IS NOT NULL AND v IS NOT NULL)"
    beyond = f"(SELECT u FROM {each} d GROUP BY u HAVING count(*) > {most})"
    return (
        f"SELECT p.v AS v, count(*) AS n FROM {each} p LEFT JOIN {beyond} b ON p.u = b.u WHERE b.u IS NULL GROUP BY "
        "p.v",
        f"SELECT p.u AS u, p.v AS v FROM {each} p JOIN {beyond} b ON p.u = b.u",
    )
