"""CPU of processes by kind of thread, also of threads that have ended."""

from pathlib import Path

from storm_lab.live.sampler import ProcessSampler, busy_ns


def _thread(proc: Path, number: int, name: str, used_ns: int) -> None:
    folder = proc / "7" / "task" / str(number)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "comm").write_text(name + "\n")
    (folder / "schedstat").write_text(f"{used_ns} 5 6\n")


def test_cpu_of_compiler_and_collector_is_counted_separately(tmp_path: Path):
    _thread(tmp_path, 1, "java", 100)
    _thread(tmp_path, 2, "C2 CompilerThre", 30)
    _thread(tmp_path, 3, "C1 CompilerThre", 20)
    _thread(tmp_path, 4, "GC Thread#0", 7)
    assert ProcessSampler(7, tmp_path).sample()[:3] == (157, 50, 7)


def test_time_that_threads_wait_for_a_core_is_measured(tmp_path: Path):
    _thread(tmp_path, 1, "java", 100)
    _thread(tmp_path, 2, "java", 30)
    process = ProcessSampler(7, tmp_path)
    # 5 ns for each thread; a second sample adds the increase since.
    assert process.sample()[3] == 10
    (tmp_path / "7" / "task" / "2" / "schedstat").write_text("30 25 6\n")
    assert process.sample()[3] == 30


def test_cpu_of_ended_threads_is_kept(tmp_path: Path):
    _thread(tmp_path, 1, "java", 100)
    _thread(tmp_path, 2, "C2 CompilerThre", 30)
    process = ProcessSampler(7, tmp_path)
    process.sample()
    for file in ("comm", "schedstat"):
        (tmp_path / "7" / "task" / "2" / file).unlink()
    (tmp_path / "7" / "task" / "2").rmdir()
    _thread(tmp_path, 1, "java", 150)
    _thread(tmp_path, 9, "C2 CompilerThre", 4)
    assert process.sample()[:3] == (184, 34, 0)


def test_a_process_that_does_not_exist_has_used_no_cpu(tmp_path: Path):
    _thread(tmp_path, 1, "java", 100)
    process = ProcessSampler(7, tmp_path)
    assert process.sample() == (100, 0, 0, 5)
    process = ProcessSampler(8, tmp_path)
    assert process.sample() == (0, 0, 0, 0)


def test_busy_time_is_all_time_but_idle_and_iowait(tmp_path: Path):
    stat = tmp_path / "stat"
    stat.write_text("cpu  1 2 3 1000 2000 4 5 0 0 0\ncpu0 0 0 0 0\n")
    tick = busy_ns(stat) // 15
    assert tick * 15 == busy_ns(stat)
    assert tick == 10_000_000
