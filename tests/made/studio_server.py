"""A studio in a process of its own, for tests and pictures."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from urllib.parse import urlsplit

PATIENCE = 120.0  # seconds to wait for a state


class Server:
    """``dagopt open`` on a table; ``ask`` speaks with it as its page does."""

    def __init__(self, data, session, *options):
        command = [sys.executable, "-m", "dagopt.cli", "open", "--no-browser", "--session", str(session), *options]
        self.process = subprocess.Popen(
            [*command, *([] if data is None else [str(data)])],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        line = self.process.stdout.readline()
        assert "http://" in line, line
        self.address = line[line.index("http://") :].strip()
        parts = urlsplit(self.address)
        self.host, self.port, self.token = parts.netloc, parts.port, parts.path.strip("/")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self, number=signal.SIGINT):
        """End it by a signal and wait."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(30)
        self.process.stdout.close()

    def raw(self, method, path, body=None, headers=None):
        """Return status, headers and body of one request, with exactly these headers besides Host."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            line.request(method, path, body, headers or {})
            answer = line.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            line.close()

    def ask(self, method, path, given=None, **headers):
        """Return status and value of a request as the page makes it."""
        sent = {"Origin": f"http://{self.host}", "Content-Type": "application/json", **headers}
        body = None if given is None else json.dumps(given)
        status, _, said = self.raw(method, f"/{self.token}/{path}", body, sent)
        try:
            return status, json.loads(said)
        except ValueError:
            return status, said

    def state(self, ready=lambda state: True):
        """Return the state once it is as wanted."""
        version, end = 0, time.monotonic() + PATIENCE
        while time.monotonic() < end:
            _, state = self.ask("GET", f"state?after={version}")
            if ready(state):
                return state
            version = state["version"]
        raise TimeoutError(f"the studio does not come to the state that is waited for: {state}")

    def learned(self, runs):
        """Return the state once so many runs have ended."""
        return self.state(lambda state: state["progress"] is None and len(state["runs"]) >= runs)
