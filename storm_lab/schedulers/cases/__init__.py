"""Scheduling cases as JSON, and the commands that schedule them."""
