"""How a topology does best on some machines: played, measured, and said in a few sentences."""
