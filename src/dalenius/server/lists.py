"""Tables from a stored list: released once, then any table that the list holds is a free and consistent sum of it.

Nothing here reads data, except `release`, which the custodian's list pays for once like any other request. A request
that the list can answer is answered from it, whoever asks, so that nobody buys a second, contradicting number. Where a
rule of the policy does not let such a table be shown it is refused, from the list and as a release
(docs/decisions/0005).
"""

import threading
from dataclasses import dataclass

from dalenius.core.release import Release, Status
from dalenius.curator import rules
from dalenius.errors import NotRegistered, PolicyError, RequestError, Unsupported
from dalenius.lists.rules import check, check_keys, refused
from dalenius.lists.tables import answer_from_list
from dalenius.server import downloads
from dalenius.server.catalogue import outages
from dalenius.server.operations import RequestService, Served
from dalenius.server.views import ReleaseView
from dalenius.spec.canonical import canonical
from dalenius.spec.load import load_request
from dalenius.spec.method import counts_records
from dalenius.spec.request import RequestDocument
from dalenius.spec.subject import subject_of

# Nobody's account can have this name; a policy with quotas may give it one of its own: [analysts."(list)"].
LIST_QUOTA = "(list)"


@dataclass(frozen=True)
class _Asked:
    """The request of a list under the rules of today: its digest, its key, or why it would be refused now."""

    digest: str
    key: str = ""
    refusal: PolicyError | RequestError | None = None


class Lists:
    def __init__(self, desk: RequestService) -> None:
        self._desk = desk
        self._lock = threading.Lock()
        self._requests: dict[str, _Asked] = {}
        self._releases: dict[str, Release] = {}

    def document(self, served: Served) -> RequestDocument | None:
        if served.entry.list is None:
            return None
        return load_request(self._desk.config.path(served.entry.list))

    def view(self, served: Served) -> ReleaseView | None:
        """The published list of a data set: under the rules of today or, without one, under earlier ones."""
        asked = self._asked(served)
        if asked is None:
            return None
        own = self._desk.catalogue.by_key(asked.key)
        views = [*self._desk.catalogue.by_request(asked.digest), *([own] if own else [])]
        return next((view for view in reversed(views) if view.status == Status.PUBLISHED), None)

    def _asked(self, served: Served) -> _Asked | None:
        """None where there is no list, or the data set is not registered yet."""
        document = None if served.name in self._requests else self.document(served)
        if document is None:
            return self._requests.get(served.name)
        digest = canonical(document, served.curator.domain).digest
        try:
            asked = _Asked(digest, self._desk.quote(served, document, "", is_stored=True).charge.key)
        except NotRegistered:
            return None
        except (PolicyError, RequestError) as error:
            asked = _Asked(digest, refusal=error)
        with self._lock:
            self._requests[served.name] = asked
        return asked

    def release(self, served: Served) -> str | None:
        """Release the list, if the data set has one; charged once, whoever asks and however often.

        A list that was released under earlier rules stays the list until the custodian withdraws it.
        """
        document, asked = self.document(served), self._asked(served)
        if document is None:
            return None
        if asked is not None:
            for view in reversed(self._desk.catalogue.by_request(asked.digest)):
                if view.status != Status.WITHDRAWN:
                    return view.entry
        return self._desk.release(served, document, analyst=LIST_QUOTA, approved_by="", stage=lambda _: None)

    def answer(self, served: Served, request: RequestDocument) -> Release | None:
        """The table from the list; None if there is no published list, or it does not hold the table.

        A table that it holds and that a rule of the policy does not let be shown is refused.
        """
        try:
            return self.find(served, request)
        except Unsupported:
            return None

    def find(self, served: Served, request: RequestDocument) -> Release | None:
        """The table and its margins from the list; a refusal that says what to change where only the records differ."""
        if served.entry.list is None or not counts_records(request.method) or request.table.weight is not None:
            return None
        view, domain = self.view(served), served.curator.domain
        if view is None:
            return None
        stored = self._stored(view)
        answer = answer_from_list(
            stored, request.space(domain), request.filters(domain), domain, request.margins(domain)
        )
        if answer is None:
            return None
        rules.check_universe(request, domain)
        self._check(served, request, answer, stored)
        return answer.with_(subject=subject_of(request, domain, served.curator.document.dataset.title))

    def _check(self, served: Served, request: RequestDocument, answer: Release, stored: Release) -> None:
        """Refuse a table that is not shown under the rules of today, or that leaves aside what the request names."""
        asked, curator = self._asked(served), served.curator
        assert asked is not None
        curator.planner.check(request, canonical(request, curator.domain))
        check_keys(request, stored)
        if asked.refusal is not None:
            reason = f"the list was released before it. {asked.refusal.message}"
            raise refused(stored, str(asked.refusal.detail.get("rule", "policy")), reason)
        own = self._desk.catalogue.by_key(asked.key)
        is_current = own is not None and own.entry == stored.provenance.ledger_entry
        check(answer, stored, curator.policy, is_current=is_current)

    def _stored(self, view: ReleaseView) -> Release:
        with self._lock:
            stored = self._releases.get(view.entry)
        if stored is None:
            with outages():
                stored = downloads.read(self._desk.ledger.reader.release(view.entry))
            with self._lock:
                self._releases[view.entry] = stored
        return stored
