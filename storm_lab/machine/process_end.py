"""How a process ended, in words."""

from __future__ import annotations

import signal


def said_of_end(status: int) -> str:
    """That it was ended by a signal, which one, and what that may mean; or its exit status.

    A program that cleans up behind a signal, as Java does, ends with the signal's number above 128.
    """
    number = -status if status < 0 else status - 128
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"ended with status {status}"
    # The kernel kills so where memory is short; nobody is asked to end for it.
    guess = ", perhaps for want of memory" if number == signal.SIGKILL else ""
    return f"was ended by a signal ({name}{guess})"


def asked_to_end(error: SystemExit) -> bool:
    """Whether SIGTERM is the reason, and not code that calls ``sys.exit``."""
    return error.code == 128 + signal.SIGTERM
