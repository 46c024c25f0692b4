"""What plans say of how rows were drawn: whether an error of sampling is stated, what its law carries, and the notes
beside it.
"""

from dalenius.core.estimate import Draws
from dalenius.errors import Unsupported
from dalenius.spec.notes import note
from dalenius.spec.question import Question

SAMPLING = "sampling"
# Why no error of sampling is stated, by how rows were drawn.
REASONS = {Draws.CENSUS: "census", Draws.CLUSTERS: "clusters", Draws.UNSTATED: "weights_without_design"}


def design_law(question: Question) -> dict[str, object]:
    """What the law of an estimate carries of the design: `draws` where declared, `rows_per_unit` above 1."""
    draws, rows = question.domain.draws, question.domain.neighbours.max_rows
    return ({"draws": str(draws)} if draws else {}) | ({"rows_per_unit": rows} if rows > 1 else {})


def no_sampling(question: Question) -> str:
    return note(REASONS[question.domain.draws])


def design_notes(question: Question, *, is_asked: bool = True, is_weighted: bool = False) -> tuple[str, ...]:
    """Notes on the error of sampling: that it was not asked for, why there is none, or what it holds for."""
    if not is_asked:
        return (note("noise_alone"),)
    if not question.domain.draws.has_sampling(is_weighted=is_weighted):
        return (no_sampling(question),)
    rows = question.domain.neighbours.max_rows
    notes = (note("rows_of_units", rows=rows),) if rows > 1 else ()
    if question.domain.draws is Draws.INDEPENDENT:
        return notes
    return (*notes, note("if_independent" if rows == 1 else "if_units_independent"))


def public_size(question: Question, *others: str) -> int | None:
    """The number of rows, where it is public: replace, one row a unit, everybody in one cell, and nothing that drops
    out.
    """
    neighbours, variables = question.neighbours, (question.domain.variable(name) for name in (question.of, *others))
    is_whole = not question.space.axes and not question.where
    keeps = not any(variable.may_drop for variable in variables)
    is_public = neighbours.is_replace and neighbours.max_rows == 1 and is_whole and keeps
    return question.domain.public_size if is_public else None


def whole_size(question: Question, *others: str) -> int:
    """The public number of rows, or a refusal."""
    size = public_size(question, *others)
    if size is None:
        raise Unsupported(
            "This is a statistic of a public number of rows: it needs relation = 'replace', a declared size, no rows, "
            "columns or conditions, and rules that keep every row. Ask for the total and the count."
        )
    return size


def wants_sampling(question: Question, *, is_weighted: bool = False) -> bool:
    """Whether the error of sampling is measured: unless the request says otherwise, or no design allows it."""
    is_asked = question.parameter("error", SAMPLING) == SAMPLING
    return is_asked and question.domain.draws.has_sampling(is_weighted=is_weighted)


def sampling_notes(question: Question, *, is_weighted: bool = False) -> tuple[str, ...]:
    """Notes on the error of sampling, where a request may leave it out: not asked for, not stated and why, or what it
    holds for.
    """
    is_asked = question.parameter("error", SAMPLING) == SAMPLING
    return design_notes(question, is_asked=is_asked, is_weighted=is_weighted)
