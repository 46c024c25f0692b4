"""Ways to measure a list of margins, one file each; found by name and never listed."""
