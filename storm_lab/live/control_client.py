"""Commands to Nimbus, through a JVM that stays for as long as the cluster does."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from storm_lab.errors import StormLabError
from storm_lab.live.daemons import last_words

CONTROL_CLASS = "stormlab.Control"
_QUESTIONS = ("cluster", "info")
_TRIES = 10
_PAUSE_SECONDS = 1.0
_ANSWER_SECONDS = 90.0


class ControlClient:
    """A process that runs ``stormlab.Control``: a line in, a line of JSON out."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], folder: Path, errors: Path
    ) -> None:
        self._errors = errors
        with errors.open("ab") as sink:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
                env=dict(environment),
                cwd=folder,
                start_new_session=True,
                text=True,
                encoding="utf-8",
            )
        self._lock = threading.Lock()

    def try_ask(self, *words: object) -> Mapping[str, Any]:
        """The answer to a command, be it ``{"error": ...}``.

        Raises:
            StormLabError: the client has ended, or does not answer.
        """
        with self._lock:
            # A client that hangs is killed, and reading from it ends.
            guard = threading.Timer(_ANSWER_SECONDS, self._process.kill)
            guard.start()
            try:
                assert self._process.stdin is not None and self._process.stdout is not None
                self._process.stdin.write("\t".join(map(str, words)) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
            except BrokenPipeError:
                line = ""
            finally:
                guard.cancel()
        if not line:
            raise StormLabError(f"the client of Nimbus has ended: {last_words(self._errors)}")
        answer: Mapping[str, Any] = json.loads(line)
        return answer

    def ask(self, *words: object) -> Mapping[str, Any]:
        """The answer to a command; a question is put again where the connection to Nimbus breaks.

        Raises:
            StormLabError: Nimbus refuses, or cannot be asked.
        """
        answer = self.try_ask(*words)
        tries = _TRIES if words[0] in _QUESTIONS else 1
        while "Transport" in answer.get("error", "") and (tries := tries - 1):
            time.sleep(_PAUSE_SECONDS)
            answer = self.try_ask(*words)
        if "error" in answer:
            raise StormLabError(f"Nimbus refuses to {' '.join(map(str, words))}: {answer['error']}")
        return answer

    def close(self) -> None:
        """End the client."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue
