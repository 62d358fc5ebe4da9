"""What something depends on: the code that it uses, definition by definition, and the data that it holds.

The name of a run, of a cached kernel or of an executed notebook changes when anything changes that it uses.
It stays the same when anything else changes: a comment, a docstring, a text of the command line.
"""
