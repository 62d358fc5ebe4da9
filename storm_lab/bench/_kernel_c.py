"""The benchmark's model in plain C, compiled when needed with -O2 into a temporary folder."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path

from storm_lab.bench._kernel_model import EngineResult, Model, description
from storm_lab.bench._program import output_of
from storm_lab.emulator.state.names import NS_PER_S
from storm_lab.errors import StormLabError

COMPILERS = ("gcc", "cc", "clang")
FLAGS = ("-O2", "-std=c11", "-D_POSIX_C_SOURCE=200809L")


def build(folder: Path) -> Path:
    """Compile the C program into ``folder`` and return the executable.

    Raises `StormLabError` if there is no C compiler on this machine, or it does not work.
    """
    compiler = next((found for name in COMPILERS if (found := shutil.which(name))), None)
    if compiler is None:
        raise StormLabError(f"no C compiler: none of {', '.join(COMPILERS)} is on the path")
    source = folder / "kernel_bench.c"
    source.write_text(files("storm_lab.bench").joinpath("kernel_bench.c").read_text(encoding="utf-8"))
    program = folder / "kernel_bench"
    output_of([compiler, *FLAGS, "-o", str(program), str(source)], "the C compiler")
    return program


def play_c(program: Path, model: Model, warm_ns: int, until_ns: int) -> EngineResult:
    """Play the model in the C program and measure the window (warm, until]. Raises `StormLabError`."""
    text = " ".join(map(str, description(model, warm_ns, until_ns)))
    found = json.loads(output_of([str(program)], "the C program of the benchmark", text=text))
    return EngineResult(
        events=found["events"],
        cpu_s=found["seconds"],
        roots=round(model.rate_per_s * (until_ns - warm_ns) / NS_PER_S),
        batch_ms=found["batch_ms"],
        busy=found["cpu_ns"] / (model.nodes * model.cores * (until_ns - warm_ns)),
        exact=(found["emitted"], found["acked"], found["latency_ns"], found["cpu_ns"]),
    )
