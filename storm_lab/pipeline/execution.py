"""Where a tuple's time goes inside an executor: waiting in the receive queue, then being executed.

**Wait**: from entering the executor's receive queue to being taken by the user-logic thread. **Execute**:
from there to the return of ``execute``, time spent waiting for a core included (Storm's execute latency).
Where the log holds a sample of the root tuples, so does this metric.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import NS, bin_ns

_MS = 1e6


def execution_times(executions: DataFrame, bin_s: float) -> DataFrame:
    """Mean wait and execute time by component, in the bin in which the execution ended.

    Columns: run, topology, component, t_s, executions (logged ones), wait_mean_ms, execute_mean_ms,
    wait_max_ms.
    """
    rows = executions.select(
        "run", "topology", "component", bin_ns("end_ns", bin_s).alias("bin_ns"),
        (F.col("start_ns") - F.col("enqueue_ns")).alias("wait_ns"),
        (F.col("end_ns") - F.col("start_ns")).alias("execute_ns"),
    )  # fmt: skip
    grouped = rows.groupBy("run", "topology", "component", "bin_ns").agg(
        F.count("*").alias("executions"),
        F.sum("wait_ns").alias("wait_ns"),
        F.sum("execute_ns").alias("execute_ns"),
        F.max("wait_ns").alias("wait_max_ns"),
    )
    return grouped.select(
        "run", "topology", "component", (F.col("bin_ns") / NS).alias("t_s"), "executions",
        (F.col("wait_ns") / F.col("executions") / _MS).alias("wait_mean_ms"),
        (F.col("execute_ns") / F.col("executions") / _MS).alias("execute_mean_ms"),
        (F.col("wait_max_ns") / _MS).alias("wait_max_ms"),
    )  # fmt: skip
