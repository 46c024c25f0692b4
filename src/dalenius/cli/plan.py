"""`dalenius plan REQUEST`: cells, cost, law and expected error, before any data are read."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from typer import Argument, Option

from dalenius.cli.documents import written
from dalenius.cli.output import check_figure, emit, print_grid, roughly, say
from dalenius.errors import RequestError

if TYPE_CHECKING:
    from dalenius.core.domain import Domain
    from dalenius.core.plan import TablePlan
    from dalenius.curator.planner import Planner
    from dalenius.curator.trade_off import TradeOff
    from dalenius.spec.batch import Asked, BatchDocument
    from dalenius.spec.dataset import DatasetDocument
    from dalenius.spec.policy import PolicyDocument
    from dalenius.spec.request import RequestDocument

T = TypeVar("T")
A = TypeVar("A", bound="Asked")
RequestPath = Annotated[Path, Argument(help="Request document (TOML or JSON), or - for standard input.")]
LedgerPath = Annotated[
    str | None,
    Option(
        help="Ledger: a SQLite file or a postgresql:// address; what the dataset document names, or dalenius.sqlite "
        "beside it, if left out.",
        envvar="DALENIUS_LEDGER",
    ),
]
AnchorPath = Annotated[Path | None, Option(help="File of signed heads, if kept elsewhere.", envvar="DALENIUS_ANCHOR")]
PolicyPath = Annotated[
    Path | None, Option(help="Policy document; what the dataset document names or the ledger recorded if left out.")
]
AsJson = Annotated[bool, Option("--json", help="Print JSON.")]


def plan(
    request: RequestPath,
    policy: PolicyPath = None,
    is_curve: Annotated[bool, Option("--curve", help="What other amounts would give: error against privacy.")] = False,
    wanted: Annotated[
        str,
        Option(
            "--error-at-most",
            help="In place of the amounts of the request: the 95 % margin of noise in the median cell, such as 5.",
        ),
    ] = "",
    table: Annotated[
        str, Option("--in-table", help='With --error-at-most: a listed table, such as "region, sex"; () for the total.')
    ] = "",
    records: Annotated[int | None, Option("--in-cells-of", help="How many records a cell is expected to have.")] = None,
    plot: Annotated[Path | None, Option(help="Draw the curve into this file: .png, .svg or .pdf.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what a request would cost and how far off a cell would be. Free: no data are read, nothing is spent."""
    from dalenius.curator.planner import Planner
    from dalenius.shown.speech import conditions, expectation, headline, name_of
    from dalenius.spec import load
    from dalenius.spec.batch import BatchDocument, about
    from dalenius.spec.guarantees import guarantee_of

    document, place = asked_at(load.load_asked, request, policy)
    dataset = load.load_dataset(place)
    domain = dataset.domain()
    planner = Planner(domain=domain, policy=policy_for(dataset, policy))
    if wanted or table or records is not None:
        document = _with_accuracy(document, wanted, table, records)
    if is_curve or plot is not None:
        asked = planner.completed(load.load_request(document))
        _show_trade_off(planner, asked, plot=plot, as_json=as_json)  # type: ignore[arg-type]  # one table stays one
        return
    planned = planner.plan(document)
    with planner.allowing():
        words = guarantee_of(planned)
    subject = about(document, domain, dataset.dataset.title)
    content = {
        "definition": planned.definition,
        "budget": planned.budget.to_dict(),
        "mechanism": planned.mechanism,
        "strategy": planned.strategy,
        "cost": planned.reservation.to_dict(),
        "evidence": planned.evidence.to_dict(),
        "extensions": [extension.to_dict() for extension in planned.extensions],
        "warnings": list(planned.notes),
        "subject": subject.to_dict(),
        "guarantee": words.plain,
        "formal_guarantee": words.formal,
        **planned.preview,
    }
    if as_json:
        emit(content)
        return
    if isinstance(document, BatchDocument):
        _print_batch(document, planned, domain)
        say(words.plain)
        say((f"For specialists: {words.formal}", "dim"))
        return
    say((subject.title or headline(subject, document.axes(domain)), "bold"))
    if subject.title:
        say(headline(subject, document.axes(domain)))
    if subject.where:
        say(f"Only {'; '.join(conditions(subject))}")
    say(words.plain)
    size = _size(content.get("cells"))
    say((size, "bold"), ", " if size else "", f"{planned.mechanism} ({planned.strategy})")
    for sentence in expectation(subject.measure, planned.preview, roughly, label=partial(name_of, subject)):
        say(sentence)
    _print_strategies(planned)
    say(str(content["universe"]))
    if "note" in content:
        say((f"Note: {content['note']}.", "dim"))
    say(f"Cost: {planned.cost}")
    say((f"For specialists: {words.formal}", "dim"))
    for warning in (w for w in planned.notes if w != content["universe"]):
        say(("Note:", "yellow"), f" {warning}")


def _size(cells: Any) -> str:
    return "" if cells is None else f"{cells:,} cell{'' if cells == 1 else 's'}"


def _print_strategies(planned: "TablePlan") -> None:
    """What each strategy that was weighed would give, the chosen one first."""
    compared = list(planned.preview.get("alternatives") or ())
    if len(compared) < 2:
        return
    compared.sort(key=lambda option: option["strategy"] != planned.strategy)
    headings = {
        "rmse": "root mean square",
        "rmse_of_tables": "root mean square of the tables",
        "largest_std_error": "largest",
    }
    named = {key: words for key, words in headings.items() if key in compared[0]}
    lines = [[option["strategy"], *(f"{option[key]:,.2f}" for key in named)] for option in compared]
    lines[0][0] += " <- chosen"
    print_grid(["strategy", *named.values()], lines, title="Standard errors by strategy")


def _print_batch(document: "BatchDocument", planned: "TablePlan", domain: "Domain") -> None:
    """Every table with the error to expect, then the price of all of them beside the sum of their own."""
    from dalenius.shown.speech import conditions, expectation, headline, name_of
    from dalenius.spec.batch import about

    tables = planned.preview["tables"]
    say((document.title or f"Batch of {len(tables)} tables", "bold"))
    for member, part in zip(document.members, tables, strict=True):
        subject = about(member, domain)
        name = member.title or headline(subject, member.axes(domain))
        facts = (_size(part.get("cells")), str(part["mechanism"]), f"share {part['share']}")
        say((name, "bold"), f": {', '.join(filter(None, facts))}")
        if subject.where:
            say(f"  Only {'; '.join(conditions(subject))}")
        for sentence in expectation(subject.measure, part, roughly, label=partial(name_of, subject)):
            say(f"  {sentence}")
    for sentence in expectation("", planned.preview, roughly):
        say(sentence)
    for warning in planned.notes:
        say(("Note:", "yellow"), f" {warning}")


def _show_trade_off(planner: "Planner", document: "RequestDocument", *, plot: Path | None, as_json: bool) -> None:
    """Print the curve; draw it where a file is named."""
    from dalenius.curator.trade_off import curve

    check_figure(plot)
    points = curve(planner.plan, document)
    if as_json:
        emit({"curve": [point.to_dict() for point in points]})
    else:
        _print_curve(points, getattr(document.privacy, points[0].unit))
    if plot is not None:
        from dalenius.publish import draw_trade_off

        draw_trade_off(points[0].unit, [(float(p.amount), p.margin, p.power) for p in points], plot)


def _with_accuracy(document: "Asked", wanted: str, table: str, records: int | None) -> "Asked":
    """The same request with an accuracy in place of its amounts."""
    content = document.to_dict()
    privacy = dict(content["privacy"])
    if wanted:
        privacy = {key: value for key, value in privacy.items() if key not in ("epsilon", "rho")}
        privacy["error_at_most"] = wanted.strip().removeprefix("±").replace(",", "")
    if table:
        names = table.replace(" x ", ",").split(",")
        privacy["in_table"] = [name.strip() for name in names if name.strip(" ()")]
    if records is not None:
        privacy["in_cells_of"] = records
    return type(document).from_dict({**content, "privacy": privacy})


def _print_curve(points: "Sequence[TradeOff]", asked: object) -> None:
    heads = (points[0].unit, "95 % margin of a cell", "cost in rho", "recognised at 5 %")
    marks = (" <- asked" if p.amount == asked else "" for p in points)
    lines = [
        (f"{float(p.amount):g}", f"±{roughly(p.margin)}", f"{float(p.rho):.4g}", f"{p.power:.1%}{mark}")
        for p, mark in zip(points, marks, strict=True)
    ]
    print_grid(heads, lines, labels=0, title="What other amounts would give")
    say("recognised: how often, at most, the best test at 5 % tells whether somebody is in the data.")


def planned_at(request: Path, policy: Path | None = None) -> "tuple[Domain, TablePlan]":
    """Return the domain and the plan of a request document under the policy in force; no data are read."""
    from dalenius.curator.planner import Planner
    from dalenius.spec import load

    document, place = asked_at(load.load_request, request, policy)
    dataset = load.load_dataset(place)
    domain = dataset.domain()
    return domain, Planner(domain=domain, policy=policy_for(dataset, policy)).plan(document)


def asked_at(
    load: Callable[[Path | str], A], request: Path, policy: Path | None, ledger: str | None = None
) -> tuple[A, Path]:
    """Return the request document at a path or on standard input, and the path of the dataset document it names."""
    from dalenius.spec.load import dataset_of

    origin = written(request)
    document = read(load, origin, policy, ledger)
    return document, dataset_of(document, origin)


def read(load: Callable[[Path | str], T], origin: Path | str, policy: Path | None, ledger: str | None = None) -> T:
    """Load a document; a request that is refused is read again with the extensions that the policy in force allows."""
    from dalenius.core import registry
    from dalenius.spec.load import dataset_named, load_dataset

    try:
        return load(origin)
    except RequestError as refusal:
        allowed = registry.Allowed()
        with suppress(RequestError):
            allowed = policy_for(load_dataset(dataset_named(origin)), policy, ledger).extensions
        if not allowed.versions:
            raise refusal from None
    registry.admit(allowed)
    return load(origin)


def policy_for(dataset: "DatasetDocument", given: Path | None, ledger: str | None = None) -> "PolicyDocument":
    """The policy that a release would be planned under: a ledger is looked at where there is one, and never made."""
    from dalenius.ledger import Ledger
    from dalenius.ledger.policy import policy_in_force
    from dalenius.spec.load import load_policy
    from dalenius.spec.policy import PolicyDocument

    place = given or dataset.policy_location
    rules = load_policy(place) if place else None
    location = ledger or dataset.ledger_location
    if "://" in location or not Path(location).is_file():
        return rules or PolicyDocument()
    with Ledger.open(location, may_write=False) as book:
        return policy_in_force(book, dataset.domain(), rules)
