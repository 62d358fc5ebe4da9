"""Real Storm's DRPC server, run alone in one process: how a call ends."""

import subprocess
from pathlib import Path

import pytest

from storm_lab.live.jars import fetch_jars
from storm_lab.machine.java import find_java

pytestmark = pytest.mark.live

SERVER = """
(require 'backtype.storm.daemon.drpc)
(let [server (backtype.storm.daemon.drpc/service-handler)
      began (System/nanoTime)
      fetched (fn [] (let [request (.fetchRequest server "count")]
                (if (empty? (.get_request_id request)) (do (Thread/sleep 20) (recur)) request)))
      answer (future (try (.execute server "count" "one two")
                       (catch backtype.storm.generated.DRPCExecutionException e (.get_msg e))))
      id (.get_request_id (fetched))]
  {steps}
  (.shutdown server)
  (System/exit 0))
"""


def _answers(steps: str, folder: Path, *options: str) -> list[str]:
    """Play Clojure on a server with one call, whose spout has taken it; returns what it prints of answers."""
    script = folder / "call.clj"
    script.write_text(SERVER.replace("{steps}", steps))
    jars = ":".join(map(str, fetch_jars("0.9.7")))
    command = [str(find_java().home / "bin" / "java"), *options, "-cp", jars, "clojure.main", str(script)]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    answers = [line for line in said.stdout.splitlines() if line.startswith("answer")]
    assert answers, said.stderr[-2000:]
    return answers


def test_a_call_is_answered_by_its_first_result_and_the_others_are_ignored(tmp_path):
    """`SourcePlan.first_result` plays this as in 0.9.7, the version of N-Storm's experiments."""
    steps = """
    (println "answered before a result:" (realized? answer))
    (.result server id "one 1")
    (println "answer:" @answer)
    (.result server id "two 1")
    (println "answer still:" @answer)
    """
    assert _answers(steps, tmp_path) == [
        "answered before a result: false",
        "answer: one 1",
        "answer still: one 1",
    ]


def test_a_call_that_its_spout_fails_ends_at_once(tmp_path):
    """DRPC's spout does so when the topology's message time-out ends; callers then call again."""
    steps = """
    (.failRequest server id)
    (println "answer:" (deref answer 1000 "none"))
    """
    assert _answers(steps, tmp_path) == ["answer: Request failed"]


def test_a_call_whose_spout_died_waits_for_the_time_out_of_the_server(tmp_path):
    """`SourcePlan.patience_ns` plays this: nobody tells the server, which looks every five seconds."""
    steps = """
    (println "answer within three seconds:" (deref answer 3000 "none"))
    (println "answer:" @answer)
    (println "answered after seconds:" (quot (- (System/nanoTime) began) 1000000000))
    """
    within, answer, after = _answers(steps, tmp_path, "-Dstorm.options=drpc.request.timeout.secs=4")
    assert (within, answer) == ("answer within three seconds: none", "answer: Request timed out")
    assert 4 <= int(after.split(": ")[1]) <= 10
