"""Accounting without a ledger: composition, filters, batches and schedules of one's own."""
