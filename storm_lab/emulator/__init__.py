"""The emulator: plays the tuples and control events of a Storm cluster in virtual time."""
