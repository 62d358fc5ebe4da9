"""Migration methods, one per file."""
