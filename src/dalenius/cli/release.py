"""`dalenius release REQUEST -o DIR`: charge, measure, store, write the documents."""

from bisect import bisect_left
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from dalenius.cli.output import emit, existing_ledger, say, stages, tell
from dalenius.cli.plan import AnchorPath, AsJson, LedgerPath, PolicyPath, RequestPath, asked_at
from dalenius.errors import BudgetError, BudgetExhausted, DaleniusError, QuotaExhausted

if TYPE_CHECKING:
    from dalenius.core.release import Release
    from dalenius.curator.curator import Curator
    from dalenius.spec.batch import Asked

_SMALLEST = -6
Out = Annotated[
    Path | None,
    Option("-o", "--output", help="Directory for the usual files; or one file, in the format of its ending."),
]

_TRUST = (
    "the command line trusts its user. The ledger records {0!r} as the second person without asking them; where"
    " approval must be theirs, use the table server."
)


def release(
    request: RequestPath,
    output: Out = None,
    ledger: LedgerPath = None,
    anchor: AnchorPath = None,
    policy: PolicyPath = None,
    analyst: Annotated[str, Option(help="Who asks; their quota applies.")] = "",
    approved_by: Annotated[
        str,
        Option(
            help="Second person, where the policy asks for one. Written down as typed: the command line trusts its "
            "user, the table server asks that person to sign in."
        ),
    ] = "",
    official: Annotated[
        bool, Option("--official", help="The custodian's own table, paid from the official share.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Release a protected table. An identical request is answered from the ledger, free, for ever."""
    from dalenius.cli.delivery import delivery, interruptible, output_place
    from dalenius.cli.tables import print_release
    from dalenius.curator.curator import Curator
    from dalenius.publish import save, to_document
    from dalenius.spec import load

    document, dataset = asked_at(load.load_asked, request, policy, ledger)
    declared = load.load_dataset(dataset)
    book = existing_ledger(ledger, declared)
    rules = policy or declared.policy_location
    inputs = [declared.base / declared.dataset.source, dataset, request, Path(book), *([rules] if rules else [])]
    place = output_place(output, inputs)
    with interruptible():
        with (
            Curator.open(dataset, ledger=book, anchor=anchor, policy=policy) as curator,
            stages(quiet=as_json) as show_stage,
        ):
            passed: list[str] = []

            def stage(name: str) -> None:
                passed.append(name)
                show_stage(name)

            tell(curator.notices + ((_TRUST.format(approved_by),) if approved_by else ()))
            try:
                result = curator.release(
                    document, analyst=analyst, approved_by=approved_by, is_official=official, stage=stage
                )
            except BudgetError as refusal:
                stage("looking for what would fit")
                raise with_advice(refusal, curator, document, analyst, official) from None
        with delivery(result.provenance.ledger_entry) as attempt:
            is_written = place is not None and attempt(f"writing to {str(place)!r}", lambda: save(result, place))
            if as_json:
                attempt("printing", lambda: emit(to_document(result)))
                return
            attempt("printing", lambda: print_release(result))
            attempt("printing", lambda: _summarise(result, place if is_written else None, is_new="storing" in passed))


def _summarise(release: "Release", place: Path | None, *, is_new: bool) -> None:
    """Say what was charged and where the release was written."""
    from dalenius.core.budget import Cost
    from dalenius.publish import written_names

    cost = Cost.from_dict(release.provenance.cost)
    say(f"Charged: {cost}." if is_new else "Answered from the ledger: asked before, so nothing was charged.")
    if place is not None:
        files = f": {', '.join(written_names(release))}" if place.is_dir() else ""
        say("Written to ", (str(place), "bold"), f"{files}.")


def with_advice(
    refusal: BudgetError, curator: "Curator", document: "Asked", analyst: str, is_official: bool
) -> BudgetError:
    """The same refusal for want of budget, which now says what is left, and the largest amount that would be paid.

    Free: plans and quotes, never data. The command line reads the ledger of its custodian; the server never shows this
    to an analyst.
    """
    if not isinstance(refusal, BudgetExhausted | QuotaExhausted):
        return refusal
    unit = "rho" if document.privacy.rho is not None else "epsilon"
    # Amounts of two digits below the one that was refused, smallest first.
    every = (Fraction(m) * Fraction(10) ** e for e in range(_SMALLEST - 1, 3) for m in range(10, 100))
    amounts = [amount for amount in every if amount < getattr(document.privacy, unit)]

    def refusal_of(amount: Fraction) -> DaleniusError | None:
        privacy = document.privacy.model_copy(update={unit: amount})
        asked = document.model_copy(update={"privacy": privacy})
        try:
            curator.quote(asked, analyst=analyst, is_official=is_official)
        except DaleniusError as error:
            return error
        return None

    # An amount that no noise is wide enough for is refused too, but it is too little, not too much.
    place = bisect_left(amounts, True, key=lambda amount: isinstance(refusal_of(amount), BudgetError))
    left = curator.ledger.reader.account(curator.domain.population).left
    advice = f" Left of the whole budget: rho {float(left.rho):.6g}, delta {float(left.delta):.3g}."
    if place and refusal_of(amounts[place - 1]) is None:
        advice += f" This request with {unit} = {float(amounts[place - 1]):g} would be paid."
    else:
        advice += f" No smaller {unit} would be paid and served."
        if (document.privacy.delta or 0) > left.delta:
            advice += f" Its delta alone is more than is left: use one of at most {float(left.delta):.3g}."
    return type(refusal)(refusal.message + advice, **refusal.detail)
