"""What only the custodian may see of a data-dependent step: for `curator/inspection.py`, as `Confidential`."""
