"""What happens next: the event heap, the calendar of far events, and how a source's event is moved."""
