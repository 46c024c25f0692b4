"""The vocabulary: frozen types and contracts, no input or output."""
