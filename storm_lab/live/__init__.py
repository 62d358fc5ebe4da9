"""Real Apache Storm on this machine: plays the same descriptions as the emulator, with Storm itself.

`releases` lists the supported versions of Storm, `jars` fetches their jars, `hosts` makes the nodes of a
cluster, `fleet` starts Storm's processes in them, and `storm.LiveStorm` ties everything together.
"""
