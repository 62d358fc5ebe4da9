"""Compute metric tables from the tuple logs of many runs, with PySpark.

Every number in a figure or verdict comes from here.
"""
