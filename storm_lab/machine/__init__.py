"""The machine underneath: Java, folders, and whether all that is needed is there.

A leaf room: everybody may import it, it imports nothing of the project but the errors and the version.
"""
