"""Plan before, infer after; one file each."""
