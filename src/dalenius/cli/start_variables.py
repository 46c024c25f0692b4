"""What each variable of `dalenius start` may hold: drafts that a person confirms, or types anew."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dalenius.cli.dialogue import Dialogue, chosen, number_lines
from dalenius.cli.output import say
from dalenius.errors import ParameterError, UnknownName

if TYPE_CHECKING:
    from dalenius.curator.drafting import ColumnSummary, Microdata
    from dalenius.spec.declaration import Declaration
    from dalenius.spec.declared_variable import DeclaredVariable

_RANGE = re.compile(r"\s*(-?[\d.]+)\s*(?:\.\.|to|–)\s*(-?[\d.]+)\s*")
_WITHOUT = re.compile(r"(?:^|\s)without\s+(none|-?[\d.]+(?:[,;\s]+-?[\d.]+)*)\s*$")
# A shorter list needs no levels.
_LEAST_CODES = 4


def declare_variables(
    talk: Dialogue,
    declared: "Declaration",
    microdata: "Microdata",
    columns: "Mapping[str, ColumnSummary]",
    book: str,
    weight: str,
) -> None:
    """Which variables may stand in tables, each as it was confirmed."""
    from dalenius.core.sealed import BANNER

    left = (declared.unit_id, weight)
    offered = [name for name, column in columns.items() if name not in left and not column.is_identifier]
    number_lines(offered)
    left_out = [name for name in columns if name not in offered and name != weight]
    if left_out:
        say(("Not offered, because they tell units apart: ", "dim"), ", ".join(left_out))
    question = "Which variables may stand in tables? Numbers, names, or all"
    wanted = talk.ask(question, lambda answer: chosen(answer, offered), "all")
    say((BANNER, "bold yellow"))
    say("Enter confirms; - leaves a variable out. Or type what it may hold: a, b, c; 0 to 100; or @list.csv.")
    say("0 to 100 without 99, -8 says that these two are codes for no value; without none, that there is no such code.")
    for name in [*wanted, *([weight] if weight else [])]:
        confirmed = confirmed_variable(talk, columns[name], microdata, book, is_weight=name == weight)
        if confirmed is not None:
            declared.variables[name] = confirmed
    declared.weight = weight if weight in declared.variables else ""


def confirmed_variable(
    talk: Dialogue, column: "ColumnSummary", microdata: "Microdata", book: str, *, is_weight: bool = False
) -> "DeclaredVariable | None":
    """What a variable may hold, as read and confirmed or as typed; None if it is left out."""
    from dalenius.curator.drafting import proposed
    from dalenius.spec.declared_variable import UNCONFIRMED

    proposal = proposed(column, microdata, book)
    if is_weight and proposal is not None:
        proposal.bounds = (0, column.bounds[1])
        proposal.confirmed, proposal.origin = False, UNCONFIRMED
    content = proposal.words if proposal else "too many different texts to list"
    listed = f" ({proposal.origin})" if proposal and proposal.confirmed else ""
    said = f"{content}{'; some rows have no value' if column.missing else ''}{listed}"
    say((column.name, "bold"), f": {said}")
    if proposal is not None and proposal.confirmed:
        return proposal
    return talk.ask(
        "  Right?",
        lambda answer: _read_declaration(answer, column, microdata, proposal),
        "yes" if proposal else "-",
        about=f"{microdata.name} {column.name}: {said} {proposal.lines('variables', []) if proposal else ''}",
    )


def _read_declaration(
    answer: str, column: "ColumnSummary", microdata: "Microdata", proposal: "DeclaredVariable | None"
) -> "DeclaredVariable | None":
    """What an answer declares: the proposal, nothing, a range, a code list or categories, each without some codes."""
    from dalenius.curator.drafting import proposed
    from dalenius.spec.codebook import read_code_list
    from dalenius.spec.declared_variable import LIST, ROWS, DeclaredVariable

    if answer.lower() in ("y", "yes", "-", "n", "no"):
        taken = proposal if answer.lower().startswith("y") else None
        if taken is not None:
            taken.confirmed, taken.origin = True, ROWS
        return taken
    match = _WITHOUT.search(answer)
    # What was proposed as no value stays so unless other codes are named, or none.
    codes = [str(code) for code in proposal.missing_codes] if proposal is not None else []
    if match:
        answer = answer[: match.start()].strip()
        codes = [] if match[1] == "none" else re.split(r"[,;\s]+", match[1])
        column = microdata.without(column.name, codes)
    label = microdata.labels.get(column.name, "")
    if not answer:
        again = proposed(column, microdata)
        if again is None:
            raise ParameterError("Without these codes nothing can be proposed; type what else it may hold.")
        again.missing_codes, again.confirmed, again.origin = tuple(codes), True, ROWS
        say("  ", (again.words, "dim"))
        return again
    typed = DeclaredVariable(column.name, label=label, missing_codes=codes, grid=column.grid)
    if answer.startswith("@"):
        place = Path(answer[1:].strip())
        typed.categories = read_code_list(place)
        typed.missing_codes = tuple(code for code in codes if code not in typed.categories)
        typed.origin = LIST.format(place=place.name)
    elif span := _RANGE.fullmatch(answer):
        typed.bounds = span.groups()  # type: ignore[assignment]
    else:
        texts = [text.strip() for text in re.split("[;,]", answer) if text.strip()]
        if len(texts) < 2 or len(set(texts)) < len(texts):
            raise ParameterError(
                "Type at least two different categories with commas between them, a range, or - to leave it out."
            )
        typed.categories = texts
    say("  ", (typed.words, "dim"))
    return typed


def declare_levels(talk: Dialogue, declared: "Declaration") -> None:
    """Levels above codes, from files that somebody wrote."""
    from dalenius.spec.codebook import find_levels
    from dalenius.spec.declaration import QUESTIONS

    listed = {name: variable for name, variable in declared.variables.items() if variable.categories}
    place = declared.microdata.place if declared.microdata is not None else None
    beside = {} if place is None else find_levels(place, listed)
    # Codes that somebody wrote a list of may have levels that somebody wrote down as well.
    if not beside and not any(v.has_list and len(v.categories) >= _LEAST_CODES for v in listed.values()):
        return

    def read(answer: str) -> None:
        for part in answer.split(",") if answer != "-" else []:
            name, _, path = (word.strip() for word in part.partition("="))
            UnknownName.check("variable with codes", name, listed)
            declared.levels(name, path)

    default = ", ".join(f"{name} = {path}" for name, path in beside.items())
    talk.ask(QUESTIONS["levels"], read, default or "-")
