"""Verdicts, figures and the report: what the metrics say about the papers' claims."""
