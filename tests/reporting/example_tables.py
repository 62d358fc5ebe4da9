"""Small made-up metric tables in the pipeline's columns, for tests of figures and report only."""

import numpy as np
import pandas as pd

NODES = [f"node-{number}" for number in range(1, 11)]
COMPONENTS = {"reader": 2, "split": 5, "count": 5, "mongo": 5, "__acker": 2}
GAMMAS = {"1": (10, 16.0), "1.8": (7, 19.0), "2.2": (5, 21.0)}
SEEDS = (1, 2, 3)


def latency() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    rows = []
    for variant, level, spike in [("storm-default", 32.0, 0.0)] + [
        (f"tstorm-g{gamma}", level, 25.0 if gamma != "1" else 0.0) for gamma, (_, level) in GAMMAS.items()
    ]:
        for seed in SEEDS:
            for t_s in range(0, 1000, 10):
                start_up = 900 * np.exp(-t_s / 22)
                bump = spike * np.exp(-(((t_s - 378) / 18) ** 2))
                value = (level + start_up + bump) * float(rng.normal(1, 0.06))
                rows.append((variant, seed, float(t_s), value))
    return pd.DataFrame(rows, columns=["variant", "seed", "t_s", "processing_mean_ms"])


def occupancy() -> pd.DataFrame:
    rows = []
    for seed in SEEDS:
        rows.append(("storm-default", seed, 8.0, 10, 20))
        for gamma, (nodes, _) in GAMMAS.items():
            rows.append((f"tstorm-g{gamma}", seed, 8.0, 10, 10))
            if nodes < 10:
                rows.append((f"tstorm-g{gamma}", seed, 355.0 + seed, nodes, nodes))
    return pd.DataFrame(rows, columns=["variant", "seed", "from_s", "nodes", "workers"])


def stays(used: int = 7, move_at: float = 360.0) -> pd.DataFrame:
    """Nineteen executors on ten nodes that move to ``used`` nodes at ``move_at`` seconds."""
    rows = []
    task = 1
    for component, parallelism in COMPONENTS.items():
        for _ in range(parallelism):
            old, new = (task - 1) % len(NODES), (task - 1) % used
            to_s = 1000.0 if old == new else move_at + 20
            rows.append((component, task, task, old, NODES[old], 6700, 8.0, to_s))
            if old != new:
                rows.append((component, task, task, new, NODES[new], 6700, move_at + 6, 1000.0))
            task += 1
    columns = ["component", "start_task", "end_task", "worker", "node", "port", "from_s", "to_s"]
    return pd.DataFrame(rows, columns=columns)


def control() -> pd.DataFrame:
    rows = [(300.0, "generator", "generate"), (352.0, "scheduler", "fetch"), (353.0, "nimbus", "re-assign")]
    for number, node in enumerate(NODES[:7]):
        rows.append((354.0 + 0.9 * number, f"supervisor:{node}", "start-worker"))
        rows.append((359.0 + 0.9 * number, f"worker:{20 + number}", "ready"))
    for number, node in enumerate(NODES):
        rows.append((378.0 + 0.4 * number, f"supervisor:{node}", "kill-worker"))
    table = pd.DataFrame(rows, columns=["time_s", "actor", "action"])
    losses = (f'{{"lost_receive_queue":{n},"lost_executing":0}}' for n in range(len(table)))
    return table.assign(
        subject="somewhere",
        detail=[d if a == "kill-worker" else "" for a, d in zip(table["action"], losses, strict=True)],
    )


def cells() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    rows = []
    edges = 10 ** np.arange(-1, 4.01, 0.05)
    for variant, middle in (("storm-default", 30.0), ("tstorm-g1", 14.0), ("tstorm-g1.8", 17.0)):
        for seed in SEEDS:
            drawn = rng.lognormal(np.log(middle), 0.45, 4000)
            counted, _ = np.histogram(drawn, edges)
            rows += [
                (variant, seed, float(low), float(high), int(number))
                for low, high, number in zip(edges, edges[1:], counted, strict=False)
                if number
            ]
    return pd.DataFrame(rows, columns=["variant", "seed", "low_ms", "high_ms", "tuples"])


def percentiles() -> pd.DataFrame:
    rows = [
        (variant, seed, middle, middle * 2.1, middle * 2.8)
        for variant, middle in (("storm-default", 30.0), ("tstorm-g1", 14.0), ("tstorm-g1.8", 17.0))
        for seed in SEEDS
    ]
    columns = ["variant", "seed", "processing_p50_ms", "processing_p95_ms", "processing_p99_ms"]
    return pd.DataFrame(rows, columns=columns)


def results() -> pd.DataFrame:
    rng = np.random.default_rng(9)
    rows = []
    for variant, latency_ms, used in [
        ("Storm default", 32.0, 10),
        ("T-Storm, gamma 1", 16.0, 10),
        ("T-Storm, gamma 1.8", 19.0, 7),
        ("R-Storm", 22.0, 6),
        ("MF-Storm", 25.0, 5),
        ("my own", 21.0, 6),
    ]:
        for seed in range(1, 6):
            rows.append(
                (variant, seed, latency_ms * float(rng.normal(1, 0.08)), 98 + 2 * float(rng.normal()), used)
            )
    return pd.DataFrame(rows, columns=["variant", "seed", "latency_ms", "throughput", "nodes"])
