"""The language of experiments: declarations, parameters, claims, the ledger, readings and measurements."""
