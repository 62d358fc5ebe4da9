"""Progress of long work: a bar in a terminal or under a notebook's cell, an occasional line in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from tqdm import tqdm

_STEPS = 1000

_LINE_S = 30.0
"""Seconds between two progress lines in a log."""

_REDRAW_S = 0.5
"""Seconds between two updates of a bar."""

ProgressCallback = Callable[[float], None]
"""Called with the completed share of the work, whenever it changes."""


@contextmanager
def progress_bar(
    tasks: int | Sequence[float], show: bool, what: str = "emulating"
) -> Iterator[Callable[[int, float], None]]:
    """Show the progress of some tasks, usually runs; yield the function that sets the share of one task.

    ``tasks`` is the number of tasks, or the expected length of each in a common unit. If ``show``, a bar is
    drawn in a terminal, or a line printed to a log every `_LINE_S` seconds. Under a notebook's cell that
    somebody executes by hand, a bar is drawn in any case.
    """
    weights = [1.0] * tasks if isinstance(tasks, int) else tasks
    if not any(weights):
        weights = [1.0] * len(weights)
    done, total = [0.0] * len(weights), sum(weights)
    with _report_progress(show, what) as report:

        def advance(number: int, share: float) -> None:
            done[number] = max(done[number], weights[number] * min(share, 1.0))
            report(sum(done) / total)

        yield advance


@contextmanager
def _report_progress(show: bool, what: str) -> Iterator[ProgressCallback]:
    if has_reader():
        with _cell_bar(what) as report:
            yield report
    elif not show:
        yield lambda share: None
    elif sys.stderr.isatty():
        bar_format = what + " {percentage:3.0f}% |{bar}| {elapsed}<{remaining}"
        with tqdm(total=_STEPS, bar_format=bar_format, file=sys.stderr, leave=False) as bar:

            def move(share: float, _: float) -> None:
                bar.n = int(share * _STEPS)
                bar.refresh()

            with _ticking(_REDRAW_S, move) as report:
                yield report
    else:

        def say(share: float, since_s: float) -> None:
            left = f", about {_time(since_s * (1 / share - 1))} to go" if share else ""
            print(f"{what}: {int(100 * share)} % after {_time(since_s)}{left}", file=sys.stderr, flush=True)

        with _ticking(_LINE_S, say) as report:
            yield report


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 300 else f"{seconds / 60:.0f} min"


def has_reader() -> bool:
    """Whether a notebook's cell is executed for a person: JupyterLab lets it ask for input, papermill not."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return bool(getattr(getattr(shell, "kernel", None), "_allow_stdin", False))


@contextmanager
def _cell_bar(what: str) -> Iterator[ProgressCallback]:
    """Draw a bar in the cell's output, and remove it at the end."""
    # Imported here because commands do not need IPython.
    from IPython.display import HTML, display

    empty: Any = HTML("")  # type: ignore[no-untyped-call]
    handle: Any = display(empty, display_id=True)  # type: ignore[no-untyped-call]

    def draw(share: float, since_s: float) -> None:
        text = f"{what} {share:.0%}, {since_s:.0f} s"
        bar = f'<progress aria-label="{what}" max="1" value="{share:.3f}"></progress> {text}'
        handle.update(HTML(bar))  # type: ignore[no-untyped-call]

    try:
        with _ticking(_REDRAW_S, draw) as report:
            yield report
    finally:
        handle.update(empty)


@contextmanager
def _ticking(seconds: float, draw: Callable[[float, float], None]) -> Iterator[ProgressCallback]:
    """Every ``seconds``, draw in a thread the share reported last and the seconds since the start."""
    began_s = time.monotonic()
    share = 0.0
    over = Event()

    def report(now: float) -> None:
        nonlocal share
        share = now

    def tick() -> None:
        while not over.wait(seconds):
            draw(share, time.monotonic() - began_s)

    thread = Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield report
    finally:
        over.set()
        thread.join()
