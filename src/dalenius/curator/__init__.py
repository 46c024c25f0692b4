"""The only place where data and noise meet."""
