"""The suite: scenes that tell how far the emulator can be trusted, played by it and by real Storm.

A *sitting* is one description with several topologies that start together and then work in turns; a *scene*
is what one of them does in one stretch of it. So forty scenes need a dozen starts of workers.
"""
