"""Real Storm's DRPC server, run alone in one process: which result answers a call."""

import subprocess

import pytest

from storm_lab.live.jars import fetch_jars
from storm_lab.machine.java import find_java

pytestmark = pytest.mark.live

CALL = """
(require 'backtype.storm.daemon.drpc)
(let [server (backtype.storm.daemon.drpc/service-handler)
      answer (future (.execute server "count" "one two"))
      fetched (fn [] (let [request (.fetchRequest server "count")]
                (if (empty? (.get_request_id request)) (do (Thread/sleep 20) (recur)) request)))
      id (.get_request_id (fetched))]
  (println "answered before a result:" (realized? answer))
  (.result server id "one 1")
  (println "answer:" @answer)
  (.result server id "two 1")
  (println "answer still:" @answer)
  (.shutdown server)
  (System/exit 0))
"""


def test_a_call_is_answered_by_its_first_result_and_the_others_are_ignored(tmp_path):
    """`SourcePlan.first_result` plays this as in 0.9.7, the version of N-Storm's experiments."""
    script = tmp_path / "call.clj"
    script.write_text(CALL)
    jars = ":".join(map(str, fetch_jars("0.9.7")))
    command = [str(find_java().home / "bin" / "java"), "-cp", jars, "clojure.main", str(script)]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert [line for line in said.stdout.splitlines() if line.startswith("answer")] == [
        "answered before a result: false",
        "answer: one 1",
        "answer still: one 1",
    ], said.stderr[-2000:]
