"""Documents made from releases; one file each."""
