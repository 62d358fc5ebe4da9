"""The purpose of a worker's Java threads, found by their names in three generations of Storm."""

from storm_lab.live.player_files import OpenedTask, ThreadUse, thread_uses
from storm_lab.model import Executor

EXECUTORS = {
    task: Executor("t", task, task, name) for task, name in enumerate(("__acker", "bolt1", "spout"), 1)
}


def _uses(*names: str, tasks: tuple[OpenedTask, ...] = ()) -> list[ThreadUse]:
    uses = thread_uses(enumerate(names), tasks, EXECUTORS)
    return [uses[key] for key in range(len(names))]


def test_names_of_2_8_executor_threads_carry_their_tasks():
    assert _uses(
        "Thread-16-bolt1-executor[2, 2]",
        "Thread-16-__acker-executor[1, 1]",
        "Thread-14-__system-executor[-1, -1]",
        "Worker-Transfer",
        "Netty-server-localhost-6700-worker-1",
        "client-worker-1",
        "flush-tuple-timer",
        "storm-lab-recorder",
    ) == [
        ThreadUse("main", 2),
        ThreadUse("main", 1),
        ThreadUse("housekeeping", -1),
        ThreadUse("transfer", -1),
        ThreadUse("receive", -1),
        ThreadUse("transfer", -1),
        ThreadUse("housekeeping", -1),
        ThreadUse("recorder", -1),
    ]


def test_each_1_2_executor_has_a_sender_thread():
    assert _uses(
        "Thread-5-bolt1-executor[2 2]",
        "Thread-4-disruptor-executor[2 2]-send-queue",
        "Thread-12-disruptor-worker-transfer-queue",
        "Thread-14-worker-receiver-thread-0",
    ) == [ThreadUse("main", 2), ThreadUse("send", 2), ThreadUse("transfer", -1), ThreadUse("receive", -1)]


def test_0_9_executors_are_recognised_by_the_sender_started_before_them():
    assert _uses(
        "Thread-9-disruptor-executor[3 4]-send-queue",
        "Thread-10-__acker",
        "Thread-11-disruptor-executor[5 5]-send-queue",
        "Thread-12-bolt1",
        "Thread-13-something-else",
    ) == [
        ThreadUse("send", 3),
        ThreadUse("main", 3),
        ThreadUse("send", 5),
        ThreadUse("main", 5),
        ThreadUse("housekeeping", -1),
    ]


def test_the_thread_that_a_task_reports_takes_precedence_over_thread_names():
    said = OpenedTask(3, 0, 0, 0)
    assert _uses("Thread-9-spout", tasks=(said,)) == [ThreadUse("main", 3)]
