"""What plans say of how rows were drawn: whether an error of sampling is stated, what its law carries, and the notes
beside it.
"""

from dalenius.core.estimate import Draws
from dalenius.spec.notes import note
from dalenius.spec.question import Question

# Why no error of sampling is stated, by how rows were drawn.
REASONS = {Draws.CENSUS: "census", Draws.CLUSTERS: "clusters", Draws.UNSTATED: "weights_without_design"}


def has_sampling(question: Question, *, is_weighted: bool = False) -> bool:
    """Whether an error of sampling can be stated for rows drawn as the data set declares."""
    return question.domain.draws.has_sampling(is_weighted=is_weighted)


def design_law(question: Question) -> dict[str, object]:
    """What the law of an estimate carries of the design: `draws` where declared, `rows_per_unit` above 1."""
    draws, rows = question.domain.draws, question.domain.neighbours.max_rows
    return ({"draws": str(draws)} if draws else {}) | ({"rows_per_unit": rows} if rows > 1 else {})


def no_sampling(question: Question) -> str:
    """Why no error of sampling is stated."""
    return note(REASONS[question.domain.draws])


def design_notes(question: Question, *, is_asked: bool = True, is_weighted: bool = False) -> tuple[str, ...]:
    """Notes on the error of sampling: that it was not asked for, why there is none, or what it holds for."""
    if not is_asked:
        return (note("noise_alone"),)
    if not has_sampling(question, is_weighted=is_weighted):
        return (no_sampling(question),)
    rows = question.domain.neighbours.max_rows
    notes = (note("rows_of_units", rows=rows),) if rows > 1 else ()
    if question.domain.draws is Draws.INDEPENDENT:
        return notes
    return (*notes, note("if_independent" if rows == 1 else "if_units_independent"))
