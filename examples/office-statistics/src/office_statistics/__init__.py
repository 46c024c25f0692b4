"""What one office adds to Dalenius."""
