"""What can be combined with an estimator: one file each, found by the registry, applied in the order of places."""
