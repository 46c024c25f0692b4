"""What can be asked of a release; one file each, found by the registry."""
