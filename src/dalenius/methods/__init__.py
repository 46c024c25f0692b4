"""What can be asked, one file each; found by name and never listed."""
