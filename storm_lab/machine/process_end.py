"""How processes end: together with their parent process, and how messages describe their exit status."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import connection, parent_process
from types import FrameType


def end_with_parent(grace_s: float = 0.0) -> None:
    """Watch the parent process; once it has ended, for whatever reason, clean up and end this process too.

    A killed parent cannot ask its children to end, and a task that computes for minutes reads no pipe
    meanwhile. Cleaning up on SIGTERM may take ``grace_s`` seconds.
    """
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(grace_s)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def describe_exit_status(status: int) -> str:
    """Describe an exit status: the signal that ended the process and its likely cause, or the status itself.

    A program that cleans up after a signal, as Java does, exits with 128 plus the signal's number.
    """
    number = -status if status < 0 else status - 128
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"ended with status {status}"
    # The kernel sends SIGKILL when memory is short. A process that is asked to end gets another signal.
    guess = ", perhaps out of memory" if number == signal.SIGKILL else ""
    return f"was ended by a signal ({name}{guess})"


def is_sigterm(error: BaseException) -> bool:
    """Whether an exception was caused by SIGTERM, and not by code that raises or calls ``sys.exit``."""
    return isinstance(error, SystemExit) and error.code == 128 + signal.SIGTERM


@contextmanager
def signal_handled(
    number: signal.Signals, handler: Callable[[int, FrameType | None], object] | signal.Handlers
) -> Iterator[None]:
    """Handle a signal by ``handler`` in this block; in a thread, to which no signal is sent, do nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)
