"""The policy in force is the one in the ledger: recorded when a data set is first used, changed by adoption only.

A line holds the whole policy and its digest. Of the lines that record a first use the first one counts, whatever was
written at the same moment; of those that adopt another policy, the last. A data set that is not registered yet comes
under the policy of its population, so that registering the same people again under another name brings no laxer rules.

Rules (`RULES`) bind: with other ones in the file nothing opens. Budgets became lines of their own when the account was
opened; other budgets in the file change nothing, and a notice names the command that would.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from dalenius.core.domain import Domain
from dalenius.core.rationals import plain
from dalenius.errors import LedgerMismatch, PolicyDiffers, UnknownName
from dalenius.ledger import Ledger
from dalenius.ledger.declarations import Declarations
from dalenius.ledger.entry import Entry
from dalenius.ledger.opening import declare_limits, ensure_quota
from dalenius.spec.canonical import digest
from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.policy import PolicyDocument

POLICY_NOTE = "policy"
RULES = ("allow", "table", "show", "floors", "analysts", "default_quota", "release")
LIMITS = ("analysts", "sensitive", "official_share", "waves", "approval_above")
_ADOPT = "`dalenius policy adopt` puts another policy in force, as a line of the ledger"


@dataclass(frozen=True, slots=True)
class Recorded:
    """A policy as the ledger holds it: since when, and by whom."""

    policy: PolicyDocument
    digest: str
    by: str
    at: str
    entry: str

    @classmethod
    def read(cls, entry: Entry) -> "Recorded":
        payload = entry.body["payload"]
        policy = PolicyDocument.from_dict(payload["policy"])
        return cls(policy, str(payload["digest"]), entry.by, entry.at, entry.name)


def policy_digest(policy: PolicyDocument) -> str:
    """Return the digest of a policy's content; its population and the order of names are not part of it."""
    return digest(_content(policy))


def recorded(ledger: Ledger, domain: Domain) -> Recorded | None:
    """Return the policy in force for a data set; None where nothing was recorded yet."""
    notes = ledger.reader.notes(domain.population, POLICY_NOTE)
    own = _in_force(note for note in notes if note.body["payload"]["dataset"] == domain.name)
    if own is None and not ledger.reader.is_registered(domain.name):
        own = _in_force(notes)
    return None if own is None else Recorded.read(own)


def policy_in_force(ledger: Ledger, domain: Domain, given: PolicyDocument | None) -> PolicyDocument:
    """Return the recorded policy, or the given one where none is recorded; refuses rules that differ."""
    in_force = recorded(ledger, domain)
    if in_force is None:
        return given or PolicyDocument()
    if given is not None and (changes := differences(in_force.policy, given, RULES)):
        raise PolicyDiffers(
            f"The policy is not the one in force for {domain.name!r} (recorded {in_force.at[:10]} by "
            f"{in_force.by or 'nobody named'}, digest {in_force.digest[:12]}). Different: {'; '.join(changes)}. Leave "
            f"the policy out to use the recorded one; {_ADOPT}.",
            recorded=in_force.digest,
            received=policy_digest(given),
            different=[change.split(":")[0] for change in changes],
        )
    return in_force.policy


def ensure_quotas(
    ledger: Ledger,
    population: str,
    analyst: str,
    policy: PolicyDocument,
    *,
    overlaps: Iterable[str],
    is_official: bool,
    declarations: Declarations | None = None,
) -> None:
    """Declare an analyst's quotas by the policy, and by those of overlapping populations, where they are missing.

    Lines go to `declarations`, those of the ledger unless given: a quote collects them. Raises `QuotaExhausted` where
    every analyst has a quota and none is named, unless the table is official.
    """
    if not is_official:
        ensure_quota(ledger, population, analyst, policy, declarations)
    if not analyst and is_official:
        return
    for other in overlaps:
        notes = ledger.reader.notes(other, POLICY_NOTE)
        datasets = dict.fromkeys(note.body["payload"]["dataset"] for note in notes)
        own = [[note for note in notes if note.body["payload"]["dataset"] == name] for name in datasets]
        policies = [Recorded.read(line).policy for line in map(_in_force, own) if line is not None]
        quotas = [(quota.rho, n) for n, rules in enumerate(policies) if (quota := rules.quota(analyst))]
        # Of several data sets the strictest policy counts: the other account pays for all of them.
        if quotas:
            ensure_quota(ledger, other, analyst, policies[min(quotas)[1]], declarations)


def bind(ledger: Ledger, domain: Domain, policy: PolicyDocument, by: str) -> None:
    """Record the policy on first use; refuse one that is not in force any more."""
    notes = ledger.reader.notes(domain.population, POLICY_NOTE)
    if all(note.body["payload"]["dataset"] != domain.name for note in notes):
        _record(ledger, domain, policy, by, "first use")
    # Read again: of two that were written at the same moment, the first line decides.
    policy_in_force(ledger, domain, policy)


def adopt(ledger: Ledger, domain: Domain, policy: PolicyDocument, by: str, note: str = "") -> list[str]:
    """Put another policy in force and return what changed: changed limits become lines, the budget stays."""
    in_force = recorded(ledger, domain)
    before = PolicyDocument() if in_force is None else in_force.policy
    old, new = before.model_dump(include=set(LIMITS)), policy.model_dump(include=set(LIMITS))
    changed = {name for name in LIMITS if old[name] != new[name]}
    if changed and domain.population in ledger.reader.populations():
        declare_limits(ledger.declarations, domain.population, policy, by, changed)
    _record(ledger, domain, policy, by, "adopted", note)
    return differences(before, policy, tuple(PolicyDocument.model_fields))


def notices(ledger: Ledger, domain: Domain, given: PolicyDocument | None) -> tuple[str, ...]:
    """Return where the file's budgets differ from the ledger's, with the command that changes it."""
    if given is None:
        return ()
    texts = [text] if (text := _budget_notice(ledger, domain.population, given)) else []
    if in_force := recorded(ledger, domain):
        budgets = tuple(name for name in LIMITS if name not in RULES)
        if changes := differences(in_force.policy, given, budgets):
            texts.append(f"The policy file differs from the ledger in {'; '.join(changes)}. {_ADOPT}.")
    return tuple(texts)


def check_ledger(document: DatasetDocument, given: str | Path | None) -> None:
    """Refuse another ledger than the document's own: two ledgers would be two budgets on the same people."""
    if given is None or not document.dataset.ledger:
        return
    named = document.ledger_location
    is_same = str(given) == named or Path(given).resolve() == Path(named).resolve()
    if not is_same:
        raise LedgerMismatch(
            f"The dataset document keeps the account of {document.dataset.population!r} in {_place(named)}, and "
            f"{_place(str(given))} was named. Two ledgers would be two budgets on the same people: leave the ledger "
            "out, or correct the document."
        )


def differences(recorded: PolicyDocument, given: PolicyDocument, names: Iterable[str]) -> list[str]:
    """Return what the ledger holds and what the file has, for each key that differs."""
    left, right = _leaves(_content(recorded), names), _leaves(_content(given), names)
    return [
        f"{key}: {_or_not_set(left.get(key))} in the ledger, {_or_not_set(right.get(key))} in the file"
        for key in sorted(left.keys() | right.keys())
        if left.get(key) != right.get(key)
    ]


def _place(location: str) -> str:
    """Return a file's name; an address may hold a password."""
    return "a database" if "://" in location else repr(location)


def _budget_notice(ledger: Ledger, population: str, given: PolicyDocument) -> str:
    try:
        limit = ledger.reader.account(population).limit
    except UnknownName:
        return ""
    rho, delta = given.budget.rho - limit.rho, given.budget.delta - limit.delta
    if not rho and not delta:
        return ""
    notice = (
        f"The policy file has budget {_in_words(given.budget.rho, given.budget.delta)}; the account of {population!r} "
        f"was granted {_in_words(limit.rho, limit.delta)}, and that holds."
    )
    if rho < 0 or delta < 0:
        return f"{notice} What was granted cannot be taken back."
    more = f"--rho {plain(rho)} --delta {plain(delta)}"
    return f"{notice} `dalenius ledger grant --population {population} {more}` adds the rest."


def _in_words(rho: Fraction, delta: Fraction) -> str:
    return f"rho {plain(rho)}, delta {plain(delta)}"


def _in_force(notes: Iterable[Entry]) -> Entry | None:
    current = None
    for note in notes:
        if current is None or note.body["payload"]["how"] == "adopted":
            current = note
    return current


def _record(ledger: Ledger, domain: Domain, policy: PolicyDocument, by: str, how: str, note: str = "") -> None:
    payload = {"dataset": domain.name, "digest": policy_digest(policy), "policy": policy.to_dict()}
    payload |= {"how": how, "note": note}
    ledger.declarations.note(POLICY_NOTE, payload, by, domain.population)


def _content(policy: PolicyDocument) -> dict[str, Any]:
    content = policy.to_dict()
    content.pop("population", None)
    if "allow" in content:
        content["allow"] = {
            key: sorted(value) if isinstance(value, list) else value for key, value in content["allow"].items()
        }
    return content


def _leaves(content: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return one key for each value: `allow.definitions`, `analysts.ada.rho`, …"""
    leaves: dict[str, Any] = {}
    for name in names:
        value = content.get(name)
        if isinstance(value, dict):
            leaves |= {f"{name}.{key}": leaf for key, leaf in _leaves(value, value).items()}
        elif value is not None:
            leaves[name] = value
    return leaves


def _or_not_set(value: object) -> str:
    return "not set" if value is None else str(value)
