"""Private steps, one file each."""
