"""What something depends on: the code that it uses, by definition, and the data that it holds.

Identity comes from use. A name of a run, of a kept kernel or of an executed notebook changes when anything
changes that it uses, and stays when something else does: a comment, a docstring, a text of the command line.
"""
