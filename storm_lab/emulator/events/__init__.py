"""Scheduling of events: the event heap, the calendar of far events, and prefetching for the next messages."""
