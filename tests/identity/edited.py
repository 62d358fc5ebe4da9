"""The package's code with edits, as if somebody had changed the files."""

from __future__ import annotations

import re
from pathlib import Path

from storm_lab.identity.closure import PACKAGE, Code, own_code


def edited(file: str, pattern: str, replacement: str) -> Code:
    """The package's code with one edit of one file; the pattern must be there, once."""
    place = PACKAGE / file
    text, count = re.subn(pattern, replacement, place.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert count == 1, f"{pattern} stands {count} times in {file}"

    def read(path: Path) -> str:
        return text if path == place else path.read_text(encoding="utf-8")

    code = Code(read=read)
    # What is not edited need not be parsed again.
    parsed = own_code()._modules.items()
    code._modules = {name: module for name, module in parsed if module is not None and module.path != place}
    return code
