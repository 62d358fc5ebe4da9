"""The schedulers that the papers propose, and those that they compare with."""
