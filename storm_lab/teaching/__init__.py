"""Helpers of the teaching notebooks: playing with the settings of a small site, and following a tuple."""
