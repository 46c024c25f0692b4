"""Privacy definitions, one file each."""
