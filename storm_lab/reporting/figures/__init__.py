"""Figures: each is a function from tidy metric tables to a matplotlib figure.

Tables are pandas frames with one row per observation. Columns that most of them share: ``variant`` (what was
run, such as a scheduler with its parameters), ``seed``, ``topology`` and ``t_s`` (start of the time bin in
seconds). ``about`` makes the foot of a figure (seeds, baseline, discarded warm-up), ``title`` stands above
it. A table that lacks a column or has no row to draw raises `UserError`.
"""
