"""Functions of sums: one file each, found by the registry."""
