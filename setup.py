"""What pyproject.toml cannot say: a wheel carries notebooks, fitted constants and recorded runs."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SHIPPED = (
    *sorted(Path("notebooks").rglob("*.ipynb")),
    Path("data/calibration/constants.json"),
    *sorted(path for path in Path("data/live").rglob("*") if path.is_file()),
)
"""Found by `storm_lab.machine.places.shipped`."""


class BuildWithNotebooks(build_py):
    """Copies what lies outside the package into it; an editable installation finds it in the checkout."""

    def run(self) -> None:
        """Build, and copy what a wheel has to carry along."""
        super().run()
        if self.editable_mode:
            return
        for path in SHIPPED:
            if ".ipynb_checkpoints" not in path.parts:
                place = Path(self.build_lib) / "storm_lab" / "shipped" / path
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place)


setup(cmdclass={"build_py": BuildWithNotebooks})
