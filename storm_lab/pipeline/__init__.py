"""From the tuple logs of many runs to metric tables, with PySpark.

Every number of a figure or verdict comes from here.
"""
