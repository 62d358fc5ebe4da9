"""Pages of the documentation site that stand elsewhere in the checkout: README, CONTRIBUTING, notebooks.

mkdocs calls `on_files` (see mkdocs.yml), before the plugins, so that they take the notebooks for theirs.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

_ROOT = Path(__file__).resolve().parent.parent


def _add_pages(files: Files, *, config: Any) -> Files:
    """Add the pages and pictures, with links as they are on the site."""
    readme = (_ROOT / "README.md").read_text(encoding="utf-8")
    for picture in re.findall(r"\]\((reports/[^)]+)\)", readme):
        files.append(File.generated(config, picture, abs_src_path=str(_ROOT / picture)))
    files.append(File.generated(config, "index.md", content=readme.replace("](docs/", "](")))
    for name in ("CONTRIBUTING", "CHANGELOG"):
        text = (_ROOT / f"{name}.md").read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, f"{name.lower()}.md", content=text))
    for path in sorted((_ROOT / "notebooks").glob("*.ipynb")):
        # No generated file: the plugin for notebooks looks for them in a folder.
        files.append(
            File(f"notebooks/{path.name}", str(_ROOT), str(config.site_dir), config.use_directory_urls)
        )
    return files


on_files = event_priority(100)(_add_pages)
