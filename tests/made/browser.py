"""A headless Chromium driven through its debugging pipe: real clicks, keys and wheel, and what the console says."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--disable-features=IsolateSandboxedIframes",  # so that frames belong to the page's own process
    "--remote-debugging-pipe",
]


def chromium():
    """Return the path of a Chromium, or None."""
    return next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )


class Browser:
    """Pages in one browser; ``problems`` collects exceptions, console errors and requests."""

    own = ("file:", "data:", "blob:")  # what may be loaded

    def __init__(self, profile, width=1280, height=900):
        read_end, self._out = os.pipe()
        self._in, write_end = os.pipe()
        command = 'exec "$@" 3<&' + str(read_end) + " 4>&" + str(write_end)
        arguments = [chromium(), *FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", command, "bash", *arguments],
            pass_fds=(read_end, write_end),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_end)
        os.close(write_end)
        self._buffer = b""
        self._number = 0
        self._session = None
        self.events = []
        self.tab(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self._session = None
            self.call("Browser.close")
            self._process.wait(10)
        except (OSError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
        finally:
            os.close(self._out)
            os.close(self._in)

    def tab(self, width=1280, height=900):
        """Open a further tab, use it from now on, and return it for ``use``."""
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        return self._session

    def use(self, tab):
        """Use another tab from now on."""
        self._session = tab

    def call(self, method, **parameters):
        """Send a command and return its answer; what comes meanwhile is kept as events."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while (answer := self._receive(40)).get("id") != self._number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    def _receive(self, patience):
        end = time.monotonic() + patience
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], max(end - time.monotonic(), 0))[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self._in, 1 << 16)
            if not piece:
                raise OSError("the browser has ended")
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def open(self, path):
        """Load a file, or an address, and wait until it stands."""
        self.events.clear()
        self.call("Page.navigate", url=path if isinstance(path, str) else path.resolve().as_uri())
        end = time.monotonic() + 20
        while self.run("document.readyState") != "complete" or self.run("location.href") == "about:blank":
            if time.monotonic() > end:
                raise TimeoutError("the page does not load")
            time.sleep(0.02)
        self.settle()

    def until(self, script, seconds=30):
        """Wait until an expression is true, and return its value."""
        end = time.monotonic() + seconds
        while not (value := self.run(script)):
            if time.monotonic() > end:
                raise TimeoutError(f"still not true: {script}")
            time.sleep(0.03)
        return value

    def in_frame(self, script):
        """Return the value of an expression in the first frame of the page; None if there is none yet."""
        frames = self.call("Page.getFrameTree")["frameTree"].get("childFrames", [])
        if not frames:
            return None
        try:
            world = self.call("Page.createIsolatedWorld", frameId=frames[0]["frame"]["id"])["executionContextId"]
            return self.run(script, contextId=world)
        except RuntimeError:  # the frame is being loaded
            return None

    def until_in_frame(self, script, seconds=30):
        """Wait until an expression is true in the first frame of the page."""
        end = time.monotonic() + seconds
        while not self.in_frame(script):
            if time.monotonic() > end:
                raise TimeoutError(f"still not true in the frame: {script}")
            self.settle()

    def run(self, script, **where):
        """Return the value of a JavaScript expression; promises are waited for."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, **where)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", "script failed"))
        return answer["result"].get("value")

    def settle(self):
        """Wait until the page has been painted."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def resize(self, width, height, *, phone=False):
        """Set the size of the page."""
        scale = 2 if phone else 1
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=phone
        )

    def theme(self, name):
        """Prefer the light or the dark colours."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def centre(self, selector):
        """Return the middle of an element on the screen."""
        script = (
            f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        return self.run(script)

    def mouse(self, kind, x, y, **more):
        """Send a mouse event."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, selector):
        """Scroll to an element and click into its middle."""
        self.run(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'nearest'}})")
        self.settle()
        x, y = self.centre(selector)
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)
        self.settle()

    def key(self, name, text=""):
        """Press a key."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, text=text if kind == "keyDown" else "")
        self.settle()

    def type(self, text):
        """Type into what has the focus."""
        self.call("Input.insertText", text=text)
        self.settle()

    def screenshot(self, path, *, whole=False):
        """Write a PNG of what is shown, or of the whole page."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    @property
    def problems(self):
        """Exceptions, warnings and errors of the console, and requests for anything but the page itself."""
        self.run("1")
        found = []
        for event in self.events:
            kind, what = event.get("method"), event.get("params", {})
            if kind == "Runtime.exceptionThrown":
                found.append(what["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif kind == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
                found.append(str(what["args"]))
            elif kind == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
                found.append(what["entry"]["text"])
            elif kind == "Network.requestWillBeSent" and not what["request"]["url"].startswith(self.own):
                found.append(what["request"]["url"])
        return found
