"""`dalenius start FILE`: from microdata to a first protected table by answering questions."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from typer import Argument, Option

from dalenius.cli.output import say
from dalenius.errors import DaleniusError, ParameterError, Undeclared

if TYPE_CHECKING:
    from dalenius.cli.start_documents import Answers, Declared
    from dalenius.curator.drafting import ColumnSummary

T = TypeVar("T")
_AMOUNTS = {"1": ("strict", "0.02"), "2": ("moderate", "0.15"), "3": ("generous", "1")}
_SHARES = {"1": ("a tenth", "1/10"), "2": ("a quarter", "1/4"), "3": ("half", "1/2")}
_RANGE = re.compile(r"\s*(-?[\d.]+)\s*(?:\.\.|to|–)\s*(-?[\d.]+)\s*")


# Questions on the terminal: one line each, a default in brackets, and the reason when an answer is not taken.
def ask(question: str, read: Callable[[str], T], default: str = "") -> T:
    """The first answer that `read` takes; a refusal is said, and the question asked again."""
    while True:
        answer = typer.prompt(question, default=default, show_default=bool(default))
        try:
            return read(str(answer).strip())
        except DaleniusError as refusal:
            say("  ", (refusal.message, "yellow"))


def is_yes(question: str, *, default: bool) -> bool:
    words = {"y": True, "yes": True, "n": False, "no": False}

    def read(answer: str) -> bool:
        if answer.lower() not in words:
            raise ParameterError("Answer y or n.")
        return words[answer.lower()]

    return ask(question, read, "y" if default else "n")


def chosen(answer: str, names: Sequence[str], *, most: int | None = None) -> list[str]:
    """Names from an answer such as "1 3-5", "age, sex" or "all".

    >>> columns = ["age", "sex", "race", "income"]
    >>> chosen("1 3-4", columns), chosen("sex, age", ["age", "sex"]), chosen("all", ["age", "sex"])
    (['age', 'race', 'income'], ['sex', 'age'], ['age', 'sex'])
    """
    if answer.lower() == "all":
        answer = f"1-{len(names)}"
    picked: list[str] = []
    for word in answer.replace(",", " ").split() if answer not in names else [answer]:
        picked += [name for name in _in_list(word, names) if name not in picked]
    if not picked or (most is not None and len(picked) > most):
        amount = "at least one" if most is None else f"one to {most}"
        raise ParameterError(f"Choose {amount} by number or by name.")
    return picked


def _in_list(word: str, names: Sequence[str]) -> list[str]:
    if word in names:
        return [word]
    first, dash, last = word.partition("-")
    ends = (first, last) if dash else (first, first)
    if all(end.isdecimal() and 1 <= int(end) <= len(names) for end in ends):
        return list(names[int(ends[0]) - 1 : int(ends[1])])
    raise ParameterError(f"{word!r} is neither a number from 1 to {len(names)} nor one of the names.")


def start(
    data: Annotated[Path, Argument(help="CSV or Parquet file with the microdata.")],
    output: Annotated[
        Path | None, Option("-o", "--output", help="New folder for documents, ledger and first table.")
    ] = None,
    codes: Annotated[Path | None, Option(help="Codebook: CSV with the columns variable, code and label.")] = None,
) -> None:
    """Ask what is needed for a first table, write the documents, register the file and release the table.

    What is read from the rows is shown to you alone, variable by variable, and declared only if you confirm it.
    """
    folder = output or Path(data.name.split(".")[0] or "data")
    try:
        _converse(data, folder, codes)
    except typer.Abort:
        is_registered = (folder / "ledger.sqlite").exists()
        stands = f"The file is registered, and {folder} holds its documents." if is_registered else ""
        typer.echo(f"\nStopped. {stands or 'Nothing was written.'} Nothing was spent.", err=True)
        raise typer.Exit(130) from None


def _converse(data: Path, folder: Path, codes: Path | None) -> None:
    from dalenius.curator.drafting import summaries
    from dalenius.spec.codebook import find_codebook, read_codebook

    columns = summaries(data)
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise ParameterError(f"{str(folder)!r} exists and is not empty; -o names another folder.", received=str(folder))
    book = codes or find_codebook(data, columns)
    if book is not None and codes is None and not is_yes(f"Take codes and labels from {book.name}?", default=True):
        book = None
    labels = {} if book is None else read_codebook(book)
    answers = _answers(data, folder, columns, labels, "" if book is None else book.name)
    _write(folder, answers)
    _register(folder / "dataset.toml")
    _release(folder)


def _answers(
    data: Path, folder: Path, columns: "Mapping[str, ColumnSummary]", labels: Mapping[str, Mapping[str, str]], book: str
) -> "Answers":
    from dalenius.cli.start_documents import Answers

    name = data.name.split(".")[0] or "data"
    population = ask("Who is in the data? A name for the population, which owns the budget", _named, name)
    unit = ask("What is protected: a person, a household, a firm, …?", _named, "person")
    unit_id, most = _unit(unit, columns)
    draws = _draws(unit)
    variables = _variables(columns, labels, book, unit_id)
    rho = _budget(population, unit)
    axes, measure, of = _first_table(variables)
    spend = rho * _share()
    return Answers(
        name=name,
        source=Path(relpath(data, folder)).as_posix(),
        population=population,
        unit=unit,
        unit_id=unit_id,
        max_rows=most,
        draws=draws,
        variables=tuple(variables),
        rho=rho,
        axes=tuple(axes),
        measure=measure,
        of=of,
        spend=spend,
    )


def _number_lines(lines: list[str]) -> None:
    for number, line in enumerate(lines, start=1):
        say((f"{number:4d}  ", "dim"), line)


def _named(answer: str) -> str:
    if not answer or len(answer) > 200 or not answer.isprintable():
        raise ParameterError("A name has 1 to 200 printable characters.")
    return answer


def _unit(unit: str, columns: "Mapping[str, ColumnSummary]") -> tuple[str, int]:
    """The column that tells units apart, and how many rows of one may count."""
    names = list(columns)
    likely = next((n for n, column in columns.items() if column.is_identifier and n.isprintable()), "")
    # Who takes several rows of one unit for several units guarantees too much, so a column that repeats is told.
    repeats = likely != "" and columns[likely].distinct < columns[likely].rows - columns[likely].missing
    hint = f" The column {likely} repeats its values." if repeats else ""
    if not is_yes(f"Can one {unit} have several rows?{hint}", default=repeats):
        return "", 1
    [unit_id] = ask("Which column tells them apart?", lambda answer: chosen(answer, names, most=1), likely)

    def whole(answer: str) -> int:
        if not answer.isdecimal() or not 1 <= int(answer) <= 1_000_000:
            raise ParameterError("A whole number of rows, from what you know of the collection and not from the file.")
        return int(answer)

    return unit_id, ask(f"At most how many rows of one {unit} may count? More rows need more noise", whole)


# What may be answered, what it declares, and what it means; nothing is declared by the last.
DRAWS = {
    "one by one": ("independent", "independently of one another, with known chances"),
    "all of them": ("census", "a census: nobody was sampled"),
    "in groups": ("clusters", "households, villages, schools: clusters"),
    "unknown": ("", "errors of sampling will hold under a condition"),
}


def _draws(unit: str) -> str:
    """How the units were drawn, on which errors of sampling rest."""
    _number_lines([f"{name}: {meaning}" for name, (_, meaning) in DRAWS.items()])
    [answer] = ask(f"How was each {unit} drawn?", lambda text: chosen(text, list(DRAWS), most=1), "unknown")
    return DRAWS[answer][0]


def _variables(
    columns: "Mapping[str, ColumnSummary]", labels: Mapping[str, Mapping[str, str]], book: str, unit_id: str
) -> "list[Declared]":
    """Which variables may stand in tables, each as it was confirmed."""
    from dalenius.cli.start_documents import LIST, Declared
    from dalenius.core.sealed import BANNER

    offered = [name for name, column in columns.items() if name != unit_id and not column.is_identifier]
    _number_lines(offered)
    left_out = [name for name in columns if name not in offered]
    if left_out:
        say(("Not offered, because they tell units apart: ", "dim"), ", ".join(left_out))
    wanted = ask("Which variables may stand in tables? Numbers, names, or all", lambda a: chosen(a, offered), "all")
    say((BANNER, "bold yellow"))
    say("Enter confirms; - leaves a variable out. Or type what it may hold: a, b, c; 0 to 100; or @list.csv.")
    declared: list[Declared] = []
    for name in wanted:
        if name in labels:
            one = Declared(name=name, origin=LIST.format(place=book), categories=labels[name])
            say((name, "bold"), f": {one.words} ({one.origin})")
            declared.append(one)
        elif (confirmed := _confirmed(columns[name])) is not None:
            declared.append(confirmed)
    return declared


def _confirmed(column: "ColumnSummary") -> "Declared | None":
    """What a variable may hold, as read and confirmed or as typed; None if it is left out."""
    from dalenius.cli.start_documents import ROWS, Declared
    from dalenius.curator.drafting import labels_of, may_be_listed

    texts, missing, proposal = column.texts, column.missing > 0, None
    read = Declared(name=column.name, origin=ROWS, has_missing=missing)
    if column.is_number and not column.is_code:
        proposal = replace(read, bounds=column.bounds, step=column.step)
    elif texts is not None and may_be_listed(texts):
        proposal = replace(read, categories=labels_of(texts))
    content = proposal.words if proposal else "too many different texts to list"
    say((column.name, "bold"), f": {content}{'; some rows have no value' if missing else ''}")
    return ask("  Right?", lambda answer: _read_declaration(answer, column, proposal), "yes" if proposal else "-")


def _read_declaration(answer: str, column: "ColumnSummary", proposal: "Declared | None") -> "Declared | None":
    """What an answer declares: the proposal, nothing, a range, a code list, or a list of categories."""
    from dalenius.cli.start_documents import LIST, TYPED, Declared
    from dalenius.core.rationals import rational
    from dalenius.spec.codebook import read_code_list

    if answer.lower() in ("y", "yes", "-", "n", "no"):
        return proposal if answer.lower().startswith("y") else None
    typed = Declared(name=column.name, origin=TYPED, has_missing=column.missing > 0)
    if answer.startswith("@"):
        place = Path(answer[1:].strip())
        return replace(typed, origin=LIST.format(place=place.name), categories=read_code_list(place))
    if match := _RANGE.fullmatch(answer):
        low, high = (rational(end, "a bound") for end in match.groups())
        if low >= high:
            raise ParameterError("A range goes from a lower to a higher number.")
        return replace(typed, bounds=(low, high), step=column.step if column.is_number else Fraction(1))
    texts = [text.strip() for text in re.split("[;,]", answer) if text.strip()]
    if len(texts) < 2 or len(set(texts)) < len(texts):
        raise ParameterError(
            "Type at least two different categories with commas between them, a range, or - to leave it out."
        )
    return replace(typed, categories={text: text for text in texts})


def _budget(population: str, unit: str) -> Fraction:
    """What all releases together may cost, in words."""
    from dalenius.core.conversions import epsilon_to_odds
    from dalenius.core.rationals import rational

    say(f"What may all releases about {population!r}, together and for ever, tell about one of them?")
    for key, (word, rho) in _AMOUNTS.items():
        epsilon = _epsilon(Fraction(rho))
        odds = f"{epsilon_to_odds(epsilon):,.{'2g' if epsilon < 4 else '0f'}}"
        say(f"{key:>4s}  {word}: rho {rho}, epsilon {epsilon:.2g}: odds of anything about one {unit} change")
        say(f"      by a factor of {odds} at most, but for two chances in a million")

    def read(answer: str) -> Fraction:
        if answer in _AMOUNTS:
            return Fraction(_AMOUNTS[answer][1])
        if answer.isdecimal():
            # A slip of the finger must not be the largest budget that there is.
            raise ParameterError(f"Choose 1, 2 or 3. If you mean that amount, write rho {answer}.")
        rho = rational(answer.lower().removeprefix("rho").strip(" ="), "rho")
        if not Fraction(1, 10**6) <= rho <= 10:
            raise ParameterError("Choose 1, 2 or 3, or write rho between 0.000001 and 10.")
        return rho

    return ask("Which budget? 1, 2, 3, or an amount such as rho 0.5", read, "2")


def _epsilon(rho: Fraction) -> float:
    from dalenius.core.conversions import rho_to_epsilon

    return float(rho_to_epsilon(rho, Fraction(1, 10**6)))


def _first_table(variables: "list[Declared]") -> tuple[list[str], str, str]:
    """Axes of the first table and what it shows: counts, or a mean where there is no variable with categories."""
    from dalenius.spec.document import DEFAULT_MEASURE, DEFAULT_MEASURE_OF_NUMBERS

    listed = {v.name: len(v.categories) for v in variables if v.bounds is None}
    names = list(listed)
    if not names:
        numbers = [variable.name for variable in variables]
        if not numbers:
            raise ParameterError("No variable is left, so there is no table to release. Nothing was written.")
        [of] = ask("The mean of which number?", lambda a: chosen(a, numbers, most=1), numbers[0])
        return [], DEFAULT_MEASURE_OF_NUMBERS, of
    _number_lines(names)
    axes = ask(
        "The first table counts by which of them? One, two or three",
        lambda a: chosen(a, names, most=3),
        # A variable with one category makes a table of one cell.
        next((name for name, size in listed.items() if size > 1), names[0]),
    )
    return axes, DEFAULT_MEASURE, ""


def _share() -> Fraction:
    def read(answer: str) -> Fraction:
        if answer not in _SHARES:
            raise ParameterError("Choose 1, 2 or 3.")
        return Fraction(_SHARES[answer][1])

    words = ", ".join(f"{key} {word}" for key, (word, _) in _SHARES.items())
    return ask(f"How much of the budget may this table spend? {words}", read, "1")


def _write(folder: Path, answers: "Answers") -> None:
    from dalenius.cli.start_documents import dataset_text, policy_text, request_text
    from dalenius.spec import load

    texts = {
        "dataset.toml": dataset_text(answers),
        "policy.toml": policy_text(answers, _epsilon(answers.rho)),
        "request.toml": request_text(answers),
    }
    load.load_dataset(texts["dataset.toml"])
    load.load_policy(texts["policy.toml"])
    load.load_request(texts["request.toml"])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    say("Documents written to ", (str(folder), "bold"), f": {', '.join(texts)}.")


def _register(dataset: Path) -> None:
    """Register the file; where most values are undeclared the custodian is asked."""
    from dalenius.cli.register import register

    try:
        register(dataset)
    except Undeclared as refusal:
        typer.echo(refusal.message, err=True)
        if not is_yes("Register it all the same?", default=False):
            raise
        register(dataset, accept_unseen=True)


def _release(folder: Path) -> None:
    """Show what the first table costs and how far off it will be; release it if that is wanted."""
    from dalenius.cli.plan import plan
    from dalenius.cli.release import release

    request = folder / "request.toml"
    plan(request)
    if is_yes("Release this table?", default=True):
        release(request, output=folder / "first-table")
    say(("Next: ", "bold"), f"edit a copy of {request}, then `dalenius plan` and `dalenius release` it.")
