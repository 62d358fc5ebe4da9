"""One Spark session per process: local by default, on a cluster or a Spark Connect server by address.

When a session is started in this process, Java's output goes to a log file instead of a notebook. A
class-data archive, which a user's first session for all metrics writes, halves the start-up of later ones.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pyspark
from pyspark.sql import SparkSession

from storm_lab.errors import StormLabError, UserError
from storm_lab.machine.atomic_file import atomic_file
from storm_lab.machine.java import JavaRuntime, activate_java
from storm_lab.machine.places import user_cache
from storm_lab.pipeline.java_process import kill_java_if_start_fails

MASTER_VARIABLE = "STORM_LAB_SPARK_MASTER"
"""Environment variable with a master URL, such as ``spark://host:7077``."""

REMOTE_VARIABLE = "STORM_LAB_SPARK_REMOTE"
"""Environment variable with a Spark Connect address, such as ``sc://host:15002``."""

_CONNECT_PORT = 15002
"""Default port of a Spark Connect server."""

_REACH_S = 10.0
"""Time that a server may take to accept a connection."""

_ARCHIVE_FORMAT = 2
"""Increase this number to stop using archives that older code wrote."""

_COMPILE_LATER = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=120000",
)
"""Java's second compiler gets only code that runs ten times, or loops three times, as often as it does by
default. All metrics are many queries, and most of that compiler's results come too late for them. A query
over many rows that runs repeatedly is worth compiling at once.
"""

_LOCK = threading.Lock()


def spark_session(
    *,
    master: str | None = None,
    remote: str | None = None,
    driver_memory: str = "1g",
    brief: bool = False,
    thorough: bool = False,
) -> SparkSession:
    """Return the process's Spark session, started at the first call; an active one is returned as it is.

    Args:
        master: master URL; default: that in STORM_LAB_SPARK_MASTER, else ``local[*]``.
        remote: address of a Spark Connect server, which takes precedence over a master; default: that in
            STORM_LAB_SPARK_REMOTE.
        driver_memory: heap of the driver, in Java's notation.
        brief: the session is for one small job. Java then compiles quickly rather than well. This saves a
            third of the processor time of a job of half a minute and makes a long one slower.
        thorough: the session is going to compute all metrics. The classes loaded at its end then make a good
            class-data archive, which is written if there is none. The archive of a session that did little
            would serve all later ones badly.

    Raises:
        UserError: there is no Java, the server cannot be reached or Spark does not start; the message names
            the log file.
        StormLabError: the Java process of the active session has ended.
    """
    with _LOCK:
        try:
            active = SparkSession.getActiveSession()
        except Exception as error:
            message = "Spark's Java process has ended: restart Python, in a notebook its kernel"
            raise StormLabError(message) from error
        if active is not None:
            return active
        remote = remote or (None if master else os.environ.get(REMOTE_VARIABLE)) or None
        if remote:
            return _connected(remote)
        master = master or os.environ.get(MASTER_VARIABLE) or "local[*]"
        return _started(master, driver_memory, brief, thorough)


def _connected(remote: str) -> SparkSession:
    # Checked first: without these packages PySpark may end the process instead of raising.
    absent = [name for name in ("grpc", "grpc_status") if importlib.util.find_spec(name) is None]
    if absent:
        message = f"Spark Connect needs packages that are not installed ({', '.join(absent)})"
        remedy = "pip install 'storm-lab[connect]'"
        raise UserError(message, field=REMOTE_VARIABLE, value=remote, remedy=remedy)
    try:
        _reach(remote)
        session: SparkSession = SparkSession.builder.remote(remote).getOrCreate()
        session.range(1).count()
    except Exception as error:
        message = f"no Spark Connect server answers ({type(error).__name__})"
        remedy = "give the address as sc://host:port, or leave it out to run on this machine"
        raise UserError(message, field=REMOTE_VARIABLE, value=remote, remedy=remedy) from error
    return session


def _reach(remote: str) -> None:
    """Open and close a connection, because PySpark would retry for many minutes if no server listens.

    Raises `OSError` if there is no connection within `_REACH_S`, and `ValueError` if the address does not
    have the form ``sc://host:port``.
    """
    address = urlsplit(remote)
    if address.scheme != "sc" or not address.hostname:
        raise ValueError("not of the form sc://host:port")
    place = (address.hostname, address.port or _CONNECT_PORT)
    socket.create_connection(place, timeout=_REACH_S).close()


def _check_environment() -> None:
    """Refuse variables of Spark's own with which a session cannot start; its messages do not name them."""
    home = os.environ.get("SPARK_HOME")
    if home and not any(Path(home, "jars").glob(f"spark-core_*-{pyspark.__version__}*.jar")):
        message = f"there is no Spark {pyspark.__version__} in this folder"
        raise UserError(message, field="SPARK_HOME", value=home, remedy="unset it: PySpark has its own Spark")
    address = os.environ.get("SPARK_REMOTE")
    if address:
        message, remedy = "storm_lab does not read this variable", f"unset it, or set {REMOTE_VARIABLE}"
        raise UserError(message, field="SPARK_REMOTE", value=address, remedy=remedy)


def _started(master: str, driver_memory: str, brief: bool, thorough: bool) -> SparkSession:
    _check_environment()
    java = activate_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    on_this_machine = master.startswith("local") or "://127.0.0.1" in master or "://localhost" in master
    # ParallelGC and the archive measurably shorten short sessions on a small machine.
    # Out of memory, Spark may wait for ever for a task whose result was lost, so Java has to exit.
    options = ["-XX:+UseParallelGC", "-XX:+ExitOnOutOfMemoryError"]
    options += _archive_options(java, write=thorough)
    options += _COMPILE_LATER if thorough else []
    if brief:
        # Java's second compiler takes half of the processor time of a cold session. Without it, Java reserves
        # a fifth of the memory for compiled code. Some hundred queries fill that, and then Spark ends.
        options += ["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m"]
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": driver_memory,
        "spark.driver.extraJavaOptions": shlex.join(options),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Otherwise every column expression asks Python for its call site, several round trips each.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "storm_lab-warehouse"),
        # All metrics are more queries than the hundred classes that Spark caches by default, so that every
        # batch of runs would compile the same code again.
        "spark.sql.codegen.cache.maxEntries": "2000",
        # A sweep has hundreds of small files: list them without a job, and read many in one task.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
        "spark.sql.files.openCostInBytes": "262144",
    }
    if on_this_machine:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 2)),
            # With so few partitions there is nothing to adapt, and re-planning between stages takes time.
            "spark.sql.adaptive.enabled": "false",
        }
    builder = SparkSession.builder.master(master).appName("storm_lab")
    for name, value in settings.items():
        builder = builder.config(name, value)
    log = (_cache_folder() or Path(tempfile.mkdtemp(prefix="storm_lab-"))) / "spark.log"
    try:
        with _output_to(log), kill_java_if_start_fails():
            session: SparkSession = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    except StormLabError:
        raise
    except Exception as error:
        message = f"Spark did not start ({type(error).__name__})"
        remedy = f"see the end of {log}"
        raise UserError(message, field="master", value=master, remedy=remedy) from error
    return session


@contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """Redirect what a child process writes to stdout and stderr to a file.

    The Java process inherits the file descriptors at its start and keeps them, so that it stays silent.
    """
    if log.exists() and log.stat().st_size > 1_000_000:
        log.unlink()
    sys.stdout.flush()
    sys.stderr.flush()
    with log.open("ab") as file:
        saved = {descriptor: os.dup(descriptor) for descriptor in (1, 2)}
        try:
            for descriptor in saved:
                os.dup2(file.fileno(), descriptor)
            yield
        finally:
            for descriptor, copy in saved.items():
                os.dup2(copy, descriptor)
                os.close(copy)


def has_archive() -> bool:
    """Return whether the next session finds a class-data archive. Raises `UserError` if there is no Java."""
    with suppress(OSError), _archive_place(activate_java()).open("rb") as archive:
        # Java writes the header last.
        return any(archive.read(4))
    return False


def _archive_options(java: JavaRuntime, *, write: bool = False) -> list[str]:
    """Return Java's options to use the class-data archive of this Java and PySpark, or to write one at exit.

    Java itself ignores a missing, foreign, broken or incomplete archive; it then starts as slowly as without
    one.
    """
    if _cache_folder() is None:
        return []
    archive = _archive_place(java)
    base = _base_archive(java, archive)
    if base is None:
        return []
    if archive.exists():
        return [f"-XX:SharedArchiveFile={base}:{archive}" if base else f"-XX:SharedArchiveFile={archive}"]
    options = [f"-XX:SharedArchiveFile={base}"] if base else []
    return [*options, f"-XX:ArchiveClassesAtExit={archive}"] if write else []


def _archive_place(java: JavaRuntime) -> Path:
    """Return the path of the archive of this Java and PySpark, which may not exist yet."""
    home = Path(pyspark.__file__).parent
    identity = f"{_ARCHIVE_FORMAT}\n{java.home}\n{java.version}\n{pyspark.__version__}\n{home}"
    return user_cache() / f"spark-{hashlib.sha256(identity.encode()).hexdigest()[:12]}.jsa"


def _base_archive(java: JavaRuntime, archive: Path) -> str | None:
    """Return the archive of Java's own classes, on which the other one builds.

    The result is empty if this Java includes such an archive. If it does not (trimmed runtimes), the archive
    is dumped once to a file, whose path is returned; None if that fails.
    """
    library = (java.home / "lib").resolve()
    if any(library.glob("**/classes*.jsa")):
        return ""
    base = archive.with_name(f"{archive.stem}-base.jsa")
    if not base.exists():
        try:
            with atomic_file(base) as written:
                options = ["-XX:+UseParallelGC", f"-XX:SharedArchiveFile={written}", "-Xshare:dump"]
                command = [str(java.home / "bin" / "java"), *options]
                subprocess.run(command, check=True, capture_output=True, timeout=60)
        except (OSError, subprocess.SubprocessError):
            return None
    return str(base)


def _cache_folder() -> Path | None:
    """Return the user's cache folder; None if nothing can be written there."""
    folder = user_cache()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    return None
