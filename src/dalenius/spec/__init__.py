"""What may be asked, as versioned documents."""
