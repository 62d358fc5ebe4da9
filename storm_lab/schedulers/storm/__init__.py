"""The schedulers of Apache Storm itself, version by version."""
