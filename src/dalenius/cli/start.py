"""`dalenius start FILE`: from microdata to a first protected table by answering questions."""

import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from dalenius.cli.dialogue import Dialogue, chosen, named, number_lines, whole
from dalenius.cli.output import say
from dalenius.cli.start_variables import confirmed_variable, declare_levels, declare_variables
from dalenius.errors import ParameterError, Undeclared

if TYPE_CHECKING:
    from dalenius.cli.start_documents import FirstTable
    from dalenius.curator.drafting import ColumnSummary, Microdata
    from dalenius.spec.declaration import Declaration

_AMOUNTS = {"1": ("strict", "0.02"), "2": ("moderate", "0.15"), "3": ("generous", "1")}
_SHARES = {"1": ("a tenth", "1/10"), "2": ("a quarter", "1/4"), "3": ("half", "1/2")}
_KEPT = "answers.json"


def start(
    data: Annotated[Path, Argument(help="File with the microdata: CSV, Parquet, DuckDB, SPSS, Stata or SAS.")],
    output: Annotated[
        Path | None, Option("-o", "--output", help="New folder for documents, ledger and first table.")
    ] = None,
    codes: Annotated[Path | None, Option(help="Codebook: CSV with the columns variable, code and label.")] = None,
    wave: Annotated[
        bool, Option("--wave", help="FILE is a later wave of the data set in the folder, declared as that one is.")
    ] = False,
) -> None:
    """Ask what is needed for a first table, write the documents, register the file and release the table.

    What is read from the rows is shown to you alone, variable by variable, and declared only if you confirm it. A
    dialogue that was stopped goes on where it stood.
    """
    folder = output or (_started(data) if wave else Path(data.name.split(".")[0] or "data"))
    try:
        _later_wave(data, folder) if wave else _converse(data, folder, codes)
    except typer.Abort:
        stands = f"{folder} holds the documents." if (folder / "dataset.toml").exists() else "Nothing was written."
        if (folder / _KEPT).exists():
            stands = f"Your answers are kept in {folder}, and the same command goes on."
        raise _stopped(stands) from None


def _stopped(stands: str) -> typer.Exit:
    typer.echo(f"\nStopped. {stands} Nothing was spent.", err=True)
    return typer.Exit(130)


def _converse(data: Path, folder: Path, codes: Path | None) -> None:
    from dalenius.curator.drafting import Microdata, with_codebook
    from dalenius.spec.codebook import find_codebook

    microdata = Microdata.of(data)
    columns = microdata.summaries()
    documents = [folder / name for name in ("dataset.toml", "policy.toml", "request.toml")]
    if all(path.is_file() for path in documents) and not (folder / "first-table").exists():
        say("Going on with the documents in ", (str(folder), "bold"), "; -o names another folder.")
    else:
        _check_new(folder)
        talk = Dialogue(folder / _KEPT)
        book = codes or find_codebook(data, columns)
        question = f"Take codes and labels from {book.name}?" if book is not None and codes is None else ""
        book = None if question and not talk.is_yes(question, default=True) else book
        microdata, origin = with_codebook(microdata, book)
        if book is not None:
            columns = microdata.summaries()
        _documents(talk, folder, microdata, columns, origin)
    _register(folder / "dataset.toml")
    _release(folder, "")


def _check_new(folder: Path) -> None:
    beside = [folder] if folder.exists() and not folder.is_dir() else []
    beside += [path for path in folder.iterdir() if path.name != _KEPT] if folder.is_dir() else []
    if beside:
        raise ParameterError(f"{str(folder)!r} exists and is not empty; -o names another folder.", received=str(folder))


def _documents(
    talk: Dialogue, folder: Path, microdata: "Microdata", columns: "Mapping[str, ColumnSummary]", book: str
) -> None:
    """Ask for everything that the documents need, and write them."""
    from dalenius.cli.start_documents import policy_text, request_text
    from dalenius.core.conversions import rho_to_epsilon
    from dalenius.spec import load
    from dalenius.spec.declaration import QUESTIONS, Declaration

    declared = Declaration(name=microdata.name, ledger="ledger.sqlite", policy="policy.toml", microdata=microdata)
    declared.population = talk.ask(QUESTIONS["population"], named, declared.name)
    declared.unit = talk.ask(QUESTIONS["unit"], named, "person")
    likely = next((n for n, column in columns.items() if column.is_identifier and n.isprintable()), "")
    _unit(talk, declared, columns, likely)
    _draws(talk, declared)
    weight = _weight(talk, declared, columns)
    if likely and declared.max_rows == 1:
        _second(talk, declared, columns, likely)
    declare_variables(talk, declared, microdata, columns, book, weight)
    declare_levels(talk, declared)
    load.load_dataset(declared.to_toml())
    rho = _budget(talk, declared)
    table = replace(_first_table(talk, declared), weight=declared.weight)
    table = replace(table, spend=rho * _share(talk))
    declared.settle(folder)
    epsilon = float(rho_to_epsilon(rho, Fraction(1, 10**6)))
    texts = {
        "dataset.toml": declared.to_toml(),
        "policy.toml": policy_text(declared.population, rho, epsilon, has_weight=bool(declared.weight)),
        "request.toml": request_text(table, rho),
    }
    load.load_dataset(texts["dataset.toml"])
    load.load_policy(texts["policy.toml"])
    load.load_request(texts["request.toml"])
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    talk.forget()
    say("Documents written to ", (str(folder), "bold"), f": {', '.join(texts)}.")
    if microdata.is_converted:
        say(f"The rows are kept there as {declared.source}, which is as confidential as the file itself.")


def _unit(talk: Dialogue, declared: "Declaration", columns: "Mapping[str, ColumnSummary]", likely: str) -> None:
    """The column that tells units apart, and how many rows of one may count."""
    from dalenius.spec.declaration import QUESTIONS

    # Who takes several rows of one unit for several units guarantees too much, so a column that repeats is told.
    repeats = likely != "" and columns[likely].distinct < columns[likely].rows - columns[likely].missing
    hint = f" The column {likely} repeats its values." if repeats else ""
    if not talk.is_yes(f"Can one {declared.unit} have several rows?{hint}", default=repeats):
        return
    [declared.unit_id] = talk.ask(QUESTIONS["unit_id"], lambda answer: chosen(answer, list(columns), most=1), likely)
    declared.max_rows = talk.ask(QUESTIONS["max_rows"].format(unit=declared.unit), whole)


def _draws(talk: Dialogue, declared: "Declaration") -> None:
    """How the units were drawn, on which errors of sampling rest."""
    from dalenius.spec.declaration import DRAWS, QUESTIONS

    number_lines([f"{name}: {meaning}" for name, (_, meaning) in DRAWS.items()])
    question = QUESTIONS["draws"].format(unit=declared.unit)
    [answer] = talk.ask(question, lambda text: chosen(text, list(DRAWS), most=1), "unknown")
    declared.draws = DRAWS[answer][0]


def _weight(talk: Dialogue, declared: "Declaration", columns: "Mapping[str, ColumnSummary]") -> str:
    """The column with the survey weight, if there is one and it may be used."""
    from dalenius.spec.declaration import QUESTIONS
    from dalenius.spec.declared_variable import is_called_weight

    numbers = [n for n, c in columns.items() if c.is_number and not c.is_code and not c.is_identifier]
    numbers = [name for name in numbers if (columns[name].lowest or 0) >= 0]
    likely = next((name for name in numbers if is_called_weight(name)), "-")
    if declared.draws == "census" or not numbers or (likely == "-" and not declared.draws):
        return ""
    weight = talk.ask(
        QUESTIONS["weight"], lambda answer: "" if answer == "-" else chosen(answer, numbers, most=1)[0], likely
    )
    question = "Were the weights fixed by the sampling plan, before anybody answered?"
    is_fixed = weight and talk.is_yes(question, default=False)
    if weight and not is_fixed:
        say(f"{weight} changes for everybody when one {declared.unit} changes, and no noise covers that: not used.")
    return weight if is_fixed else ""


def _second(talk: Dialogue, declared: "Declaration", columns: "Mapping[str, ColumnSummary]", likely: str) -> None:
    """A further table of the same units, of whose rows numbers, sums and yes or no are taken."""
    from dalenius.curator.drafting import Microdata
    from dalenius.spec.declaration import QUESTIONS, SecondTable

    unit = declared.unit
    other = talk.ask(
        QUESTIONS["second"].format(unit=unit), lambda answer: None if answer == "-" else Microdata.of(answer), "-"
    )
    if other is None:
        return
    further = other.summaries()
    question = f"Which column of this file names the {unit}?"
    [declared.unit_id] = talk.ask(question, lambda answer: chosen(answer, list(columns), most=1), likely)
    question = f"Which column of {other.name} names the {unit}?"
    same = declared.unit_id if declared.unit_id in further else ""
    [key] = talk.ask(question, lambda answer: chosen(answer, list(further), most=1), same)
    most = talk.ask(f"At most how many rows of {other.name} may count for one {unit}?", whole)
    offered = [name for name, column in further.items() if name != key and not column.is_identifier]
    number_lines(offered)
    wanted = talk.ask(
        "Which of them are added up or counted? Numbers, names, or - for the number of rows alone",
        lambda answer: [] if answer == "-" else chosen(answer, offered),
        "-",
    )
    declared.second = SecondTable(microdata=other, id=key, most=most)
    for name in wanted:
        if (confirmed := confirmed_variable(talk, further[name], other, "")) is not None:
            declared.second.variables[name] = confirmed


def _budget(talk: Dialogue, declared: "Declaration") -> Fraction:
    """What all releases together may cost, in words."""
    from dalenius.core.neighbours import Relation
    from dalenius.core.profile import PrivacyProfile
    from dalenius.core.rationals import rational
    from dalenius.spec.guarantees import rating, right_of_100

    say(f"What may all releases about {declared.population!r}, together and for ever, tell about one of them?")
    for key, (word, rho) in _AMOUNTS.items():
        # The policy that is written grants the same delta.
        whole = PrivacyProfile(relation=Relation.ADD_REMOVE, rho=Fraction(rho), rho_delta=Fraction(1, 10**6))
        right = right_of_100(whole.distance())
        say(f"{key:>4s}  {word}: rho {rho}, {rating(right)} protection: whoever guesses right in 50 of 100 cases")
        say(f"      whether one {declared.unit} is in the data guesses right in at most {right}")

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

    return talk.ask("Which budget? 1, 2, 3, or an amount such as rho 0.5", read, "2")


def _first_table(talk: Dialogue, declared: "Declaration") -> "FirstTable":
    """What the first table shows, counts or a mean, and by which variables."""
    from dalenius.cli.start_documents import FirstTable
    from dalenius.spec.document import DEFAULT_MEASURE, DEFAULT_MEASURE_OF_NUMBERS

    variables = declared.document().domain().variables
    listed = {name: len(variable.categories) for name, variable in variables.items() if not variable.is_numeric}
    numbers = [name for name, variable in variables.items() if variable.is_numeric and not variable.is_weight]
    if not listed and not numbers:
        raise ParameterError("No variable is left, so there is no table to release. Nothing was written.")
    if not listed:
        [of] = talk.ask("The mean of which number?", lambda answer: chosen(answer, numbers, most=1), numbers[0])
        return FirstTable(axes=(), measure=DEFAULT_MEASURE_OF_NUMBERS, of=of)
    names = list(listed)
    number_lines(names)

    def read(answer: str) -> FirstTable:
        if not answer.lower().startswith("mean of "):
            return FirstTable(axes=chosen(answer, names, most=3), measure=DEFAULT_MEASURE)
        of, _, by = answer[len("mean of ") :].partition(" by ")
        axes = chosen(by, names, most=3) if by else []
        [of] = chosen(of.strip(), numbers, most=1)
        return FirstTable(axes=axes, measure=DEFAULT_MEASURE_OF_NUMBERS, of=of)

    # A variable with one category makes a table of one cell.
    likely = next((name for name, size in listed.items() if size > 1), names[0])
    mean = f", or: mean of {numbers[0]} by {likely}" if numbers else ""
    return talk.ask(f"The first table counts by which of them? One to three{mean}", read, likely)


def _share(talk: Dialogue) -> Fraction:
    def read(answer: str) -> Fraction:
        if answer not in _SHARES:
            raise ParameterError("Choose 1, 2 or 3.")
        return Fraction(_SHARES[answer][1])

    words = ", ".join(f"{key} {word}" for key, (word, _) in _SHARES.items())
    return talk.ask(f"How much of the budget may this table spend? {words}", read, "1")


def _register(dataset: Path) -> None:
    """Register the file; where most values are undeclared the custodian is asked."""
    from dalenius.cli.register import register

    try:
        register(dataset)
    except Undeclared as refusal:
        typer.echo(refusal.message, err=True)
        if not typer.confirm("Register it all the same?", default=False):
            raise
        register(dataset, accept_unseen=True)


def _release(folder: Path, mark: str) -> None:
    """Show what the first table costs and how far off it will be; release it if that is wanted."""
    from dalenius.cli.plan import plan
    from dalenius.cli.release import release

    request, place = folder / f"request{mark}.toml", folder / f"first-table{mark}"
    plan(request)
    try:
        is_wanted = typer.confirm("Release this table?", default=True)
    except typer.Abort:
        raise _stopped(f"The file is registered, and {folder} holds its documents.") from None
    if is_wanted:
        release(request, output=place)
        if mark and (folder / "first-table").is_dir():
            say(("Compare: ", "bold"), _comparison(folder / "first-table", place), soft_wrap=True)
    say(("Next: ", "bold"), f"edit a copy of {request}, then `dalenius plan` and `dalenius release` it.")


def _comparison(first: Path, second: Path) -> str:
    """The command that says how each number of one wave changed to the other."""
    from shlex import quote

    from dalenius.cli.documents import read_release

    table = read_release(second).table
    axes = table.space.axes
    command = f"dalenius infer change {quote(str(first))} --against {quote(str(second))}"
    # Whether the people behind the samples changed, where the error of sampling was measured.
    command += " --kind parameter" if table.sampled is not None else ""
    command += f" --by {quote(axes[0].variable)}" if axes else ""
    for axis in axes[1:]:
        # Numbers that do not add up, such as means, are compared within one label of every other axis.
        label = quote(f"{axis.variable}={axis.labels[0]}")
        command += f" --first {label} --second {label}"
    return command


def _started(data: Path) -> Path:
    """The folder that an earlier `start` made: the only one, or the only one that the file is named after."""
    places = {path.parent for root in (Path(), data.parent) for path in root.glob("*/dataset.toml")}
    folders = {place.resolve(): place for place in places if (place / "request.toml").is_file()}
    own = [place for place in folders.values() if data.name.startswith(place.name)] or list(folders.values())
    if len(own) != 1:
        raise ParameterError("-o names the folder of the data set that this file is a wave of.")
    return own[0]


def _later_wave(data: Path, folder: Path) -> None:
    """Register a file as a later wave of a data set, declared as the first was, and release the same table of it."""
    from dalenius.cli.start_documents import changed
    from dalenius.curator.drafting import Microdata
    from dalenius.spec import load
    from dalenius.spec.declared_variable import toml_key

    document, microdata = load.load_dataset(folder / "dataset.toml"), Microdata.of(data)
    talk = Dialogue(folder / _KEPT)

    def read(answer: str) -> str:
        is_taken = answer == document.dataset.version or (folder / f"first-table-{answer}").exists()
        if is_taken or not re.fullmatch(r"[\w.-]{1,60}", answer):
            raise ParameterError("The name of a wave has letters, digits, . _ and -, and no other wave has it.")
        return answer

    wave = talk.ask("What is this wave called?", read, microdata.name)
    mark = f"-{wave}"
    dataset, request = folder / f"dataset{mark}.toml", folder / f"request{mark}.toml"
    text = changed((folder / "dataset.toml").read_text(encoding="utf-8"), "dataset", "version", wave)
    others = {name: talk.ask(f"The file of this wave with {name}?", Microdata.of) for name in document.tables}
    text = changed(text, "dataset", "source", microdata.source_in(folder))
    for name, other in others.items():
        text = changed(text, f"tables.{toml_key(name)}", "source", other.source_in(folder))
    asked = changed((folder / "request.toml").read_text(encoding="utf-8"), "", "dataset", dataset.name)
    part, of_request = load.load_dataset(text).dataset, load.load_request(asked).dataset
    if (part.version, part.source, of_request) != (wave, microdata.source_in(folder), dataset.name):
        raise ParameterError(
            "The documents in the folder are not as `start` writes them: `version`, `source` and `dataset` need a line "
            "each, with the text in quotation marks."
        )
    dataset.write_text(text, encoding="utf-8")
    request.write_text(asked, encoding="utf-8")
    talk.forget()
    _register(dataset)
    _release(folder, mark)
