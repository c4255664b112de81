"""Who may speak with the studio: this machine only, with the token of the address, from its own page."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

__all__ = ["MOST_JSON", "MOST_UPLOADED", "Guard"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

MOST_JSON = 1_000_000  # bytes of a request
MOST_UPLOADED = 200_000_000  # bytes of a table
MOST_PATH = 500  # characters; longer numbers of runs could not be turned into numbers
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; img-src 'self' "
    "data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
FRAME_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class Guard:
    """Passes on the requests that come from the page itself, and adds the headers that keep the page to itself.

    The address is ``http://127.0.0.1:PORT/TOKEN/``. A request must name this host (so that another name that a page on
    the web points to this machine is refused), have the token, and come from this page: without another site's Origin
    or Sec-Fetch-Site, and with this Origin if it changes something. Bodies have a limit.

    Parameters
    ----------
    app : ASGI application
        What answers.
    token : str
        The random part of the address.
    hosts : set of str
        The values of the Host header that are this server's.
    """

    def __init__(self, app: Any, token: str, hosts: set[str]) -> None:
        self._app = app
        self._token = token
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no websockets here
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        status = self._refused(scope, headers)
        if status:
            await _answer(send, status)
            return
        prefix = f"/{self._token}"
        inner = {**scope, "path": scope["path"][len(prefix) :] or "/", "root_path": ""}
        is_frame = inner["path"].endswith("/view")

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                policy = FRAME_POLICY if is_frame else PAGE_POLICY
                added = {**HEADERS, "content-security-policy": policy}
                message["headers"] = [
                    *message.get("headers", []),
                    *((name.encode(), value.encode()) for name, value in added.items()),
                ]
            await send(message)

        most = MOST_UPLOADED if inner["path"] == "/data" else MOST_JSON
        await self._app(inner, _limited(receive, most), guarded)

    def _refused(self, scope: Scope, headers: dict[str, str]) -> int:
        """Return the status with which a request is refused, 0 if it is not."""
        own = {f"http://{host}" for host in self._hosts}
        if headers.get("host") not in self._hosts:
            return 421
        given = scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
        if not secrets.compare_digest(given.encode(), self._token.encode()):
            return 404
        origin, changes = headers.get("origin"), scope["method"] not in ("GET", "HEAD")
        if (origin is not None and origin not in own) or (changes and origin is None):
            return 403
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403
        most = MOST_UPLOADED if scope["path"].endswith("/data") else MOST_JSON
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > len(str(most)) or int(length) > most:
            return 413
        return 414 if len(scope["path"]) > MOST_PATH else 0


class TooLarge(Exception):
    """A body is larger than it may be, whatever its length was said to be."""


def _limited(receive: Receive, most: int) -> Receive:
    left = most

    async def limited() -> Any:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise TooLarge
        return message

    return limited


async def _answer(send: Send, status: int) -> None:
    headers = [
        (b"content-type", b"text/plain"),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"refused\n"})
