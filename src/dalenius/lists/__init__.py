"""Free sums of a stored release: no data, no ledger."""
