"""Where a tuple's time goes: inside an executor, and since its root left the spout.

**Wait**: from entering the executor's receive queue until the user-logic thread takes the tuple. **Execute**:
from then to the return of ``execute``, including time spent waiting for a core (Storm's execute latency).

**Elapsed**: time since the root tuple left its spout, measured on entry to a bolt's receive queue and at the
end of execute. For topologies that ack nothing, this replaces complete latency. At the bolts next to the
spout it is the latency of one hop, by how far the tuple travelled.

If the log holds a sample of the root tuples, so do these metrics.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from storm_lab.pipeline.bins import NS, bin_ns, sums
from storm_lab.pipeline.latency import after_warm_up

_MS = 1e6


def execution_times(executions: DataFrame, placements: DataFrame, bin_s: float) -> DataFrame:
    """Mean wait and execute time by component, in the bin in which the execution ended.

    Columns: run, topology, component, t_s, executions (logged ones), wait_mean_ms, execute_mean_ms,
    wait_max_ms. An execution of a task that was never placed in its worker makes the query fail, because such
    a log contradicts itself.
    """
    wait, execute = F.col("start_ns") - F.col("enqueue_ns"), F.col("end_ns") - F.col("start_ns")
    by_task = (
        executions.withColumn("bin_ns", bin_ns("end_ns", bin_s))
        # Numbers only: a name among the grouping columns doubles the cost of grouping millions of rows.
        .groupBy("run", "worker", "task", "bin_ns")
        .agg(
            F.count("*").alias("executions"),
            F.sum(wait).alias("wait_ns"),
            F.sum(execute).alias("execute_ns"),
            F.max(wait).alias("wait_max_ns"),
        )
    )
    keys = ("run", "topology", "component", "bin_ns")
    amounts = (*sums("executions", "wait_ns", "execute_ns"), F.max("wait_max_ns").alias("wait_max_ns"))
    return _with_names(by_task, placements).groupBy(*keys).agg(*amounts).select(
        "run", "topology", "component", (F.col("bin_ns") / NS).alias("t_s"), "executions",
        (F.col("wait_ns") / F.col("executions") / _MS).alias("wait_mean_ms"),
        (F.col("execute_ns") / F.col("executions") / _MS).alias("execute_mean_ms"),
        (F.col("wait_max_ns") / _MS).alias("wait_max_ms"),
    )  # fmt: skip


def _with_names(by_task: DataFrame, placements: DataFrame) -> DataFrame:
    """Add the topology and component of each row's task, from the placements in its worker."""
    task = F.explode(F.sequence("start_task", "end_task")).alias("task")
    names = placements.select("run", "worker", task, "topology", "component").distinct()
    message = F.concat(F.lit("executions without a placement: worker "), F.col("worker"))
    return by_task.join(F.broadcast(names), ["run", "worker", "task"], "left").withColumn(
        "component", F.coalesce("component", F.raise_error(message).cast("string"))
    )


def steady_elapsed(roots: DataFrame, executions: DataFrame, runs: DataFrame) -> DataFrame:
    """Elapsed time by component and by the locality of the tuple's last hop.

    ``runs`` has run, warm_up_ns and sample_every. Executions that end after the warm-up count. Columns:
    run, topology, component, locality, tuples, enqueue_mean_ms (root's emit to the bolt's receive queue),
    end_mean_ms (root's emit to the end of execute).
    """
    facts = F.broadcast(runs.select("run", "sample_every"))
    # All root tuples are logged but executions are sampled: the others match none and would be shuffled
    # needlessly.
    sampled = (
        roots.join(facts, "run")
        .where(F.col("root_id") % F.col("sample_every") == 0)
        .select("run", "root_id", "emit_ns")
    )
    joined = after_warm_up(executions, runs, "end_ns").join(sampled, ["run", "root_id"])
    return joined.groupBy("run", "topology", "component", "locality").agg(
        F.count("*").alias("tuples"),
        # Integer nanoseconds: their sum does not depend on the order of addition.
        (F.sum(F.col("enqueue_ns") - F.col("emit_ns")) / F.count("*") / _MS).alias("enqueue_mean_ms"),
        (F.sum(F.col("end_ns") - F.col("emit_ns")) / F.count("*") / _MS).alias("end_mean_ms"),
    )
