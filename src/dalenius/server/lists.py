"""Tables from a stored list: released once, then any table that the list holds is a free and consistent sum of it.

Nothing here reads data, except `release`, which the custodian's list pays for once like any other request. A request that
the list can answer is answered from it, whoever asks, so that nobody buys a second, contradicting number.
"""

import threading

from dalenius.core.release import Release, Status
from dalenius.errors import NotRegistered, Unsupported
from dalenius.lists.tables import answer_from_list
from dalenius.server import downloads
from dalenius.server.operations import Desk, Served
from dalenius.server.views import ReleaseView
from dalenius.spec.load import load_request
from dalenius.spec.method import counts_records
from dalenius.spec.request import RequestDocument
from dalenius.spec.subject import subject_of

# Nobody's account can have this name; a policy with quotas may give it one of its own: [analysts."(list)"].
LIST_PURSE = "(list)"


class Lists:
    """The stored lists of the served data sets."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._lock = threading.Lock()
        self._keys: dict[str, str] = {}
        self._releases: dict[str, Release] = {}

    def document(self, served: Served) -> RequestDocument | None:
        """The request that makes the list of a data set."""
        if served.entry.list is None:
            return None
        return load_request(self._desk.config.path(served.entry.list))

    def view(self, served: Served) -> ReleaseView | None:
        """The published list of a data set."""
        document = self.document(served) if served.name not in self._keys else None
        if served.name not in self._keys:
            if document is None:
                return None
            try:
                key = self._desk.quote(served, document, "", is_stored=True).charge.key
            except NotRegistered:
                return None
            with self._lock:
                self._keys[served.name] = key
        with self._desk.outages():
            found = self._desk.catalogue.by_key(self._keys[served.name])
        return found if found is not None and found.status == Status.PUBLISHED else None

    def release(self, served: Served) -> str | None:
        """Release the list, if the data set has one; charged once, whoever asks and however often."""
        document = self.document(served)
        if document is None:
            return None
        return self._desk.release(served, document, analyst=LIST_PURSE, approved_by="", stage=lambda _: None)

    def answer(self, served: Served, request: RequestDocument) -> Release | None:
        """The table from the list; None if there is no published list, or it does not hold the table."""
        try:
            return self.find(served, request)
        except Unsupported:
            return None

    def find(self, served: Served, request: RequestDocument) -> Release | None:
        """The table and its margins from the list; a refusal that says what to change where only the records differ."""
        if (
            served.entry.list is None
            or not counts_records(request.method)
            or request.table.weight is not None
        ):
            return None
        view = self.view(served)
        if view is None:
            return None
        domain = served.curator.domain
        found = answer_from_list(
            self._stored(view),
            request.space(domain),
            request.filters(domain),
            domain,
            request.margins(domain),
        )
        title = served.curator.document.dataset.title
        return found and found.with_(subject=subject_of(request, domain, title))

    def _stored(self, view: ReleaseView) -> Release:
        with self._lock:
            known = self._releases.get(view.entry)
        if known is None:
            with self._desk.outages():
                known = downloads.read(self._desk.ledger.release(view.entry))
            with self._lock:
                self._releases[view.entry] = known
        return known
