"""What a release means, without data."""
