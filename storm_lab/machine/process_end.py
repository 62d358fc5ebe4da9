"""How processes end: with the one that started them, and how that is said in words."""

from __future__ import annotations

import os
import signal
import threading
import time
from multiprocessing import connection, parent_process


def end_with_parent(grace_s: float = 0.0) -> None:
    """Watch the process that started this one: once it is gone, however it ended, clean up and end as well.

    A killed parent cannot ask for it, and a task that computes for minutes reads no pipe meanwhile. Cleaning
    up may take ``grace_s`` seconds.
    """
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(grace_s)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


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


def asked_to_end(error: BaseException) -> bool:
    """Whether SIGTERM is the reason of an exception, and not code that raises, or calls ``sys.exit``."""
    return isinstance(error, SystemExit) and error.code == 128 + signal.SIGTERM
