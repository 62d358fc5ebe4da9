"""The machine that storm-lab runs on: Java, folders, and checks that everything needed is there.

Every other subpackage may import this one. It imports nothing of the project but the errors and the version.
"""
