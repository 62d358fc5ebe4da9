"""The suite: scenes on which real Storm and the emulator are compared, to show how far to trust the emulator.

A *sitting* is one description with several topologies that start together and then are active in turn. A
*scene* is what one of them does in one stretch of the sitting.
"""
