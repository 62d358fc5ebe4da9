"""What no cluster can do without: Linux, and folders that Storm can be told."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from storm_lab.errors import UserError
from storm_lab.live.jars import cache_folder
from storm_lab.live.records import state_folder


def check_machine(logs: Path | None = None) -> None:
    """Refuse a machine or folders that no cluster can run with.

    Raises:
        UserError: names what is wrong.
    """
    if sys.platform != "linux":
        raise UserError("real Storm is played on Linux only", field="system", value=sys.platform)
    folders = {"XDG_CACHE_HOME": cache_folder(), "XDG_STATE_HOME": state_folder(), "folder of logs": logs}
    for name, folder in folders.items():
        if folder is not None and re.search(r"[\s:*]", str(folder.absolute())):
            raise UserError(
                "holds a blank, colon or star, which Storm's command lines cannot",
                field=name,
                value=str(folder),
                remedy="choose another folder",
            )
