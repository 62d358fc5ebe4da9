"""The kernel's state: arrays of records, constants for kinds, and how compiled code accesses them."""
