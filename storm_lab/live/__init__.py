"""Real Apache Storm on this machine: the description that the emulator plays, played by Storm itself.

`releases` says what a version of Storm needs, `jars` fetches it, `make_hosts` makes a cluster's nodes,
`fleet` starts Storm's processes in them, and `storm.LiveStorm` holds it all together.
"""
