"""What would have happened: tuples and control events of a Storm cluster, played in virtual time."""
