"""Building blocks of experiments: declarations, parameters, claims, the ledger, readings and measurements."""
