"""The benchmark's model in plain C, compiled when needed with -O2 into a temporary folder."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

from storm_lab.bench._kernel_model import NS_PER_S, EngineResult, Model, description
from storm_lab.errors import StormLabError

COMPILERS = ("gcc", "cc", "clang")
FLAGS = ("-O2", "-std=c11", "-D_POSIX_C_SOURCE=200809L")


class NoCompilerError(StormLabError):
    """There is no C compiler on this machine, or it does not work."""


def build(folder: Path) -> Path:
    """Compile the C program into ``folder`` and return the executable. Raises `NoCompilerError`."""
    compiler = next((found for name in COMPILERS if (found := shutil.which(name))), None)
    if compiler is None:
        raise NoCompilerError(f"no C compiler: none of {', '.join(COMPILERS)} is on the path")
    source = folder / "kernel_bench.c"
    source.write_text(files("storm_lab.bench").joinpath("kernel_bench.c").read_text(encoding="utf-8"))
    program = folder / "kernel_bench"
    done = subprocess.run(
        [compiler, *FLAGS, "-o", str(program), str(source)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise NoCompilerError(f"the C compiler failed: {last}")
    return program


def play_c(program: Path, model: Model, warm_ns: int, until_ns: int) -> EngineResult:
    """Play the model in the C program and measure the window (warm, until]. Raises `StormLabError`."""
    text = " ".join(map(str, description(model, warm_ns, until_ns)))
    done = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise StormLabError(f"the C program of the benchmark failed: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    return EngineResult(
        events=found["events"],
        cpu_s=found["seconds"],
        roots=round(model.rate_per_s * (until_ns - warm_ns) / NS_PER_S),
        batch_ms=found["batch_ms"],
        busy=found["cpu_ns"] / (model.nodes * model.cores * (until_ns - warm_ns)),
        exact=(found["emitted"], found["acked"], found["latency_ns"], found["cpu_ns"]),
    )
