"""Malformed requests to the studio's server: each is answered or refused in words, and changes nothing if refused.

The application runs in this process, without a socket, so that paths, headers and bodies can be anything. A request is
one that the page would send, with one to three things broken: bytes of its body, a value of another kind, its path, its
method, a header. No answer has the status 500, no exception leaves the application, the token is in no answer, and
afterwards the state can still be asked for, saved and read again.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import numpy as np

from dagopt.studio.server import Studio
from dagopt.studio.session import Session
from hunt.claims import watched
from hunt.record import Wrong

HOST, PORT, TOKEN = "127.0.0.1:4711", 4711, "the-token-of-the-hunt"
REQUESTS = 40  # to one server
COLUMNS = ("a", "b", "c", "d")
STRANGE: tuple[Any, ...] = (
    None, True, -1, 0, 1, 10**400, 1.5, float("nan"), float("inf"), -0.0, "", "a", "=1+1", "\ud800", "\x00", "a" * 5000,
    "<script>", [], ["a"], [["a", "b"]], [["a"]], [[["a"]]], {}, {"a": 1}, {"a": None}, {"\ud800": "b"}, "..", "²",
)  # fmt: skip
BODIES: tuple[tuple[str, Any], ...] = (
    ("choices", {"time_limit": 5}), ("choices", {"exclude": ["a"]}), ("choices", {"kind": {"a": "discrete"}}),
    ("choices", {"max_parents": 2}), ("choices", {"score": "bic", "method": "hc"}), ("choices", {"missing": "drop"}),
    ("knowledge", {"required": [["a", "b"]]}), ("knowledge", {"forbidden": [["b", "a"]], "tiers": [["a"], ["b"]]}),
    ("knowledge", {"max_parents": 2}), ("stop", {}), ("learn", {"base": 1}), ("runs/1/ask", {"evidence": {"a": 1}}),
    ("runs/1/ask", {"do": {"a": 1}}), ("runs/1/effect", {"cause": "a", "outcome": "b"}), ("runs/1/forget", {}),
)  # fmt: skip
PAGES = (
    "", "state", "state?after=1", "studio.js", "studio.css", "knowledge.toml", "runs/1/view", "runs/1/report.html",
    "runs/1/report.html?data=1", "runs/1/graph.dot", "runs/1/graph.bif", "runs/1/repeat.py", "runs/1/against/2",
)  # fmt: skip
NUMBERS = ("1", "0", "-1", "²", "9" * 5000, "1e9", "٣", "%00", "..%2f..", "1" + "0" * 30, "")
METHODS = ("GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "QUERY")
HEADERS = ("host", "origin", "content-type", "content-length", "sec-fetch-site", "cookie", "transfer-encoding")
VALUES = ("", "x", "null", "²", "9" * 5000, "-1", "0", "application/json", "text/plain", "é", "\x00", "none")


def look(seed: int, number: int, counts: Counter[str], family: str | None = None) -> str | None:
    """Send requests to a new server; return what is wrong about one, or None."""
    rng = np.random.default_rng([seed, number, 17])
    with tempfile.TemporaryDirectory() as folder, studio_in(Path(folder)) as studio:
        for _ in range(REQUESTS):
            method, path, headers, body = broken(rng)
            try:
                with watched():
                    _check(studio, method, path, headers, body, counts)
            except Exception as error:  # whatever it is, it is a finding
                asked = f"{method} {path[:200]!r} {headers} {body[:300]!r}"
                return f"{type(error).__name__}: {error}\n{asked}\npython -m hunt studio --seed {seed} --only {number}"
    return None


@contextmanager
def studio_in(folder: Path) -> Iterator[Studio]:
    """Open a studio over a small table, and end its processes."""
    rng = np.random.default_rng(0)
    rows = [",".join(COLUMNS), *(",".join(f"{value:.3f}" for value in row) for row in rng.normal(size=(30, 4)))]
    data = folder / "data.csv"
    data.write_text("\n".join([*rows, ""]))
    studio = Studio(Session.open(folder / "session", data), PORT, TOKEN)
    try:
        yield studio
    finally:
        studio.desk.close()


def broken(rng: np.random.Generator) -> tuple[str, str, dict[str, str], bytes]:
    """Return a request of the page with one to three things broken."""
    headers = {"host": HOST, "origin": f"http://{HOST}", "content-type": "application/json"}
    if rng.random() < 0.6:
        place, given = BODIES[int(rng.integers(len(BODIES)))]
        method, content = "POST", json.loads(json.dumps(given))
    else:
        place, content, method = PAGES[int(rng.integers(len(PAGES)))], None, "GET"
    body = b"" if content is None else json.dumps(content).encode()
    for _ in range(int(rng.integers(1, 4))):
        how = str(rng.choice(["value", "bytes", "path", "method", "header"], p=[0.4, 0.2, 0.2, 0.05, 0.15]))
        if how == "value" and isinstance(content, dict):
            key = str(rng.choice([*content, "colour", "exclude", "time_limit"]))
            content[key] = STRANGE[int(rng.integers(len(STRANGE)))]
            body = json.dumps(content).encode()
        elif how == "bytes" and body:
            at = int(rng.integers(len(body)))
            body = body[:at] + bytes(rng.integers(0, 256, int(rng.integers(0, 4))).tolist()) + body[at + 1 :]
        elif how == "path":
            old = "1" if "1" in place else place
            place = place.replace(old, str(rng.choice(NUMBERS)), 1) if old else str(rng.choice(NUMBERS))
        elif how == "method":
            method = str(rng.choice(METHODS))
        elif how == "header":
            headers[str(rng.choice(HEADERS))] = str(rng.choice(VALUES))
    return method, f"/{TOKEN}/{place}", headers, body


def sent(studio: Studio, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
    """Return status and body of the answer, as an ASGI server would get them."""
    place, _, query = path.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": unquote_to_bytes(place).decode("utf-8", "replace"), "raw_path": place.encode(),
        "query_string": query.encode(), "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", PORT),
        "headers": [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()],
    }  # fmt: skip
    given = [{"type": "http.request", "body": body, "more_body": False}]
    answered: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return given.pop() if given else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        answered.append(message)

    asyncio.run(studio.app(scope, receive, send))
    status = next((one["status"] for one in answered if one["type"] == "http.response.start"), 0)
    return status, b"".join(one.get("body", b"") for one in answered)


def _check(studio: Studio, method: str, path: str, headers: dict[str, str], body: bytes, counts: Counter[str]) -> None:
    """Send one request, and then ask for the state."""
    before = (dict(studio.desk.session.choices), dict(studio.desk.session.knowledge))
    status, said = sent(studio, method, path, headers, body)
    counts[f"status {status}"] += 1
    if status == 0 or status >= 500:
        raise Wrong(f"status {status}: {said[:300]!r}")
    if TOKEN.encode() in said:
        raise Wrong("the token is in the answer")
    if status >= 400 and repr(before) != repr((studio.desk.session.choices, studio.desk.session.knowledge)):
        raise Wrong(f"a refused request has changed the session: {before}")
    status, said = sent(studio, "GET", f"/{TOKEN}/state", {"host": HOST}, b"")
    if status != 200:
        raise Wrong(f"after it the state has the status {status}: {said[:300]!r}")
    json.loads(said)
    Session.open(studio.desk.session.folder, studio.desk.session.data)
