"""The server of the studio: routes over the desk, bound to this machine, behind the guard."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import anyio.to_thread
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from dagopt.errors import DagoptError, InputError
from dagopt.studio.desk import Desk
from dagopt.studio.guard import Guard, TooLarge
from dagopt.studio.session import Session

__all__ = ["Studio", "serve"]

PATIENCE = 15.0  # seconds until an unchanged state is answered
WAITING_TABS = 64  # threads that may wait for a change
ASSETS = {"studio.js": "text/javascript", "studio.css": "text/css"}
SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")


class Studio:
    """The application of one session.

    Parameters
    ----------
    session : Session
        What was done so far.
    port : int
        Where it is served; other Host headers are refused.
    token : str, optional
        The secret part of the address; random unless given.
    """

    def __init__(self, session: Session, port: int, token: str | None = None) -> None:
        self.desk = Desk(session)
        self.token = secrets.token_urlsafe(24) if token is None else token
        self.port = port
        routes = [
            Route("/", self._page),
            Route("/state", self._state),
            Route("/choices", self._posted(lambda given: self.desk.choose(given)), methods=["POST"]),
            Route("/knowledge", self._posted(lambda given: self.desk.know(given)), methods=["POST"]),
            Route("/data", self._upload, methods=["POST"]),
            Route("/learn", self._posted(lambda given: {"run": self.desk.learn(given.get("base"))}), methods=["POST"]),
            Route("/stop", self._posted(lambda given: self.desk.stop()), methods=["POST"]),
            Route("/knowledge.toml", self._knowledge_file),
            Route("/runs/{number:int}/view", self._view),
            Route("/runs/{number:int}/ask", self._about_run("ask", ("evidence", "do")), methods=["POST"]),
            Route("/runs/{number:int}/effect", self._about_run("effect", ("cause", "outcome")), methods=["POST"]),
            Route("/runs/{number:int}/forget", self._forget, methods=["POST"]),
            Route("/runs/{number:int}/against/{other:int}", self._compare),
            Route("/runs/{number:int}/report.html", self._report),
            Route("/runs/{number:int}/graph.{format:str}", self._graph),
            Route("/runs/{number:int}/repeat.py", self._code),
            Route("/{name:str}", self._asset),
        ]
        app = Starlette(
            routes=routes, exception_handlers={DagoptError: _refused, TooLarge: _too_large, Exception: _failed}
        )
        self.app = Guard(app, self.token, {f"127.0.0.1:{port}", f"localhost:{port}"})
        self._waiting = anyio.CapacityLimiter(WAITING_TABS)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    async def _page(self, request: Request) -> Response:
        return HTMLResponse(_text("studio.html"))

    async def _asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in ASSETS:
            return PlainTextResponse("there is no such page\n", 404)
        return Response(_text(name), media_type=ASSETS[name])

    async def _state(self, request: Request) -> Response:
        after = request.query_params.get("after", "0")
        wait = partial(self.desk.state, int(after) if after.isdecimal() and len(after) < 20 else 0, PATIENCE)
        return JSONResponse(await anyio.to_thread.run_sync(wait, limiter=self._waiting, abandon_on_cancel=True))

    def _posted(self, act: Callable[[dict[str, Any]], Any]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            given = await _given(request)
            return JSONResponse(await anyio.to_thread.run_sync(act, given) or {})

        return answer

    def _about_run(self, name: str, arguments: tuple[str, ...]) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            given = await _given(request)
            taken = {one: given.get(one) or ({} if one in ("evidence", "do") else "") for one in arguments}
            return JSONResponse(await self._asked(request, name, **taken))

        return answer

    async def _asked(self, request: Request, name: str, **arguments: Any) -> Any:
        call = partial(self.desk.answer, name, request.path_params["number"], **arguments)
        return await anyio.to_thread.run_sync(call)

    async def _view(self, request: Request) -> Response:
        return HTMLResponse(await self._asked(request, "view"))

    async def _report(self, request: Request) -> Response:
        text = await self._asked(request, "report", with_data=request.query_params.get("data") == "1")
        return _download(text, "report.html", "application/octet-stream")

    async def _graph(self, request: Request) -> Response:
        format = request.path_params["format"]
        return _download(await self._asked(request, "graph", format=format), f"graph.{format}")

    async def _code(self, request: Request) -> Response:
        return _download(self.desk.code(request.path_params["number"]), "repeat.py")

    async def _knowledge_file(self, request: Request) -> Response:
        return _download(self.desk.knowledge_file(), "knowledge.toml")

    async def _compare(self, request: Request) -> Response:
        pair = request.path_params["number"], request.path_params["other"]
        return JSONResponse(await anyio.to_thread.run_sync(self.desk.compare, *pair))

    async def _forget(self, request: Request) -> Response:
        self.desk.forget(request.path_params["number"])
        return JSONResponse({})

    async def _upload(self, request: Request) -> Response:
        """Store a table in the session's folder; of its name only the suffix is used."""
        name = request.query_params.get("name", "").lower()
        suffix = next((one for one in sorted(SUFFIXES, key=len, reverse=True) if name.endswith(one)), None)
        if suffix is None:
            raise InputError(f"expected a file that ends in {', '.join(SUFFIXES)}; convert it")
        target = self.desk.session.folder / f"data{suffix}"
        draft = target.with_name(f"upload{suffix}")
        try:
            with open(draft, "wb") as stream:
                async for piece in request.stream():
                    stream.write(piece)
            if draft.stat().st_size == 0:
                raise InputError("the file is empty; choose another")
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
        await anyio.to_thread.run_sync(self.desk.use, target)
        return JSONResponse({})


async def _given(request: Request) -> dict[str, Any]:
    """Return the object that a request holds."""
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise InputError("expected JSON; the page and the server do not fit: reload the page")
    try:
        found = await request.json()
    except (ValueError, RecursionError):
        raise InputError("expected JSON; the page and the server do not fit: reload the page") from None
    if not isinstance(found, dict):
        raise InputError("expected an object; reload the page")
    return found


def _download(text: str, name: str, kind: str = "text/plain") -> Response:
    return Response(text, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


async def _refused(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400)


async def _too_large(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "the file is too large; open it with dagopt open FILE instead"}, 413)


async def _failed(request: Request, error: Exception) -> Response:
    if isinstance(error, ClientDisconnect):
        return Response(status_code=400)
    return JSONResponse({"error": f"this should not have happened: {type(error).__name__}: {error}"}, 500)


def _text(name: str) -> str:
    """Return a file of the page; its style and pictures are those of the report."""
    own = (files("dagopt") / "studio" / name).read_text(encoding="utf-8")
    report = files("dagopt") / "report"
    if name == "studio.css":
        return (report / "page.css").read_text(encoding="utf-8") + own
    if name == "studio.js":
        shared = (report / "page.pictures.js").read_text(encoding="utf-8")
        return '"use strict";\n(() => {\n' + own.replace("/* {{pictures}} */", shared) + "\n})();\n"
    return own


def serve(session: Session, port: int, told: Callable[[str], None]) -> None:
    """Serve a session until Ctrl-C.

    Parameters
    ----------
    session : Session
        What was done so far.
    port : int
        Where; 0 chooses a free one.
    told : callable
        Called with the address once it can be opened.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError:
            raise InputError(f"port {port} is in use; choose another --port, or leave it out") from None
        studio = Studio(session, listening.getsockname()[1])
        config = uvicorn.Config(
            studio.app, log_level="error", access_log=False, server_header=False, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        listening.listen(64)
        told(studio.address)
        try:
            server.run(sockets=[listening])
        finally:
            studio.desk.close()


def session_folder(data: Path | None) -> Path:
    """Return where the session of a table is kept unless the user says otherwise: beside it, or here."""
    return Path("dagopt-session") if data is None else data.with_name(f"{data.name}.dagopt")
