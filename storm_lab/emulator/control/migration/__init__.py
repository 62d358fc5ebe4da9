"""Migration methods, one per file, found by name."""
