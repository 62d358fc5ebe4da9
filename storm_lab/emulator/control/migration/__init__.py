"""Methods of migration, one a file; found by name."""
