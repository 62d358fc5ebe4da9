"""Opens a page in headless Chromium, runs a script in it and returns the script's answer."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

_SETTINGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND",
]  # fmt: skip

# Collects errors of any kind; runs before all other scripts of the page.
_WATCH = """<script>window.problems = [];
addEventListener("error", function (e) { problems.push(e.message || "load: " + e.target.tagName); }, true);
addEventListener("securitypolicyviolation", function (e) {
  problems.push("policy: " + e.violatedDirective);
});
["error", "warn"].forEach(function (kind) {
  console[kind] = function () { problems.push(kind + ": " + [].join.call(arguments, " ")); };
});</script>"""

_ASK = """<script>addEventListener("load", function () { setTimeout(function () {
  var answer = {};
  function done() {
    answer.problems = problems;
    answer.width = innerWidth;
    answer.page_width = document.documentElement.scrollWidth;
    parent.postMessage(JSON.stringify(answer), "*");
  }
  try { (function (answer) { %s })(answer); } catch (e) { problems.push(String(e)); }
  %s
}, 200); });</script>"""

# Windows are never narrower than 500 pixels, frames may be.
_FRAME = """<!doctype html><html style="overflow:hidden"><body style="margin:0">
<iframe src="{address}" style="border:0;width:{width}px;height:{height}px"></iframe>
<script>addEventListener("message", function (e) {{
  var box = document.createElement("pre");
  box.id = "answer"; box.textContent = e.data; document.body.appendChild(box);
}});</script></body></html>"""


def ask(page: Path, folder: Path, script: str, *, width: int, waits: bool = False) -> dict[str, Any]:
    """Open a copy of the page, run the script (which fills ``answer``), and return the answer.

    A script that ``waits`` for something calls ``done()`` when its answer is complete. The answer always
    has ``problems`` (errors, warnings, policy violations), ``width`` and ``page_width``.
    """
    assert BROWSER is not None
    # Pages allow only their own scripts. The copy is beside the page, so that it finds the figures.
    text = page.read_text(encoding="utf-8").replace("script-src 'self'", "script-src 'unsafe-inline' 'self'")
    copy = page.with_name(f".asked-{width}.html")
    copy.write_text(
        text.replace("<title>", _WATCH + "<title>", 1).replace(
            "</body>", _ASK % (script, "" if waits else "done();") + "</body>"
        ),
        encoding="utf-8",
    )
    frame = _framed(copy, folder, width, 900)
    output = _run(folder, width, False, ["--virtual-time-budget=5000", "--dump-dom", frame], 900)
    dom = output.decode("utf-8")
    found = re.search(r'<pre id="answer">(.*?)</pre>', dom, re.DOTALL)
    assert found is not None, "the page did not answer"
    answer: dict[str, Any] = json.loads(html.unescape(found[1]))
    return answer


def screenshot(page: Path, picture: Path, *, width: int, height: int, dark: bool = False) -> None:
    """Save a picture of the top of the page."""
    frame = _framed(page, picture.parent, width, height)
    _run(picture.parent, width, dark, [f"--screenshot={picture.resolve()}", frame], height)


def _framed(page: Path, folder: Path, width: int, height: int) -> str:
    frame = folder / f"frame-{width}.html"
    address = page.resolve().as_uri()
    frame.write_text(_FRAME.format(address=address, width=width, height=height), encoding="utf-8")
    return frame.resolve().as_uri()


def _run(folder: Path, width: int, dark: bool, arguments: list[str], height: int) -> bytes:
    assert BROWSER is not None
    profile = folder / f"profile-{width}-{dark}"
    theme = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if dark else []
    command = [BROWSER, *_SETTINGS, *theme, f"--window-size={width},{height}", f"--user-data-dir={profile}"]
    result = subprocess.run([*command, *arguments], check=True, capture_output=True, timeout=120)
    return result.stdout
