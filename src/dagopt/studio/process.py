"""A second process that works for the server, so that the page answers while it computes, and outlives a crash."""

from __future__ import annotations

import _thread
import multiprocessing
import queue
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from dagopt.errors import DagoptError, InputError

__all__ = ["Process"]

ASKED_SECONDS = 0.5  # for the process to end when its pipe is closed
END_SECONDS = 5.0  # and when it is asked to terminate: what is being learned may return its answer first

Tell = Callable[[dict[str, Any]], None]


class Process:
    """A process that carries out calls, one after the other.

    Parameters
    ----------
    prepare : callable
        A module-level function that returns the functions to call, by name; it runs in the process. Each of them gets
        ``tell``, with which it reports progress, and the arguments of the call.
    """

    def __init__(self, prepare: Callable[[], dict[str, Callable[..., Any]]]) -> None:
        self._prepare = prepare
        self._lock = threading.Lock()  # one call at a time
        self._process: Any = None
        self._pipe: Connection | None = None

    def call(self, name: str, arguments: dict[str, Any], tell: Tell | None = None) -> Any:
        """Return what a function of the process returns; errors of dagopt are raised here."""
        with self._lock:
            pipe = self._started()
            try:
                pipe.send((name, arguments))
                while True:
                    kind, value = pipe.recv()
                    if kind == "told":
                        if tell is not None:
                            tell(value)
                        continue
                    break
            except (EOFError, OSError):
                self.end()
                raise InputError("the computation ended unexpectedly, perhaps for lack of memory; try again") from None
        if kind == "refused":
            raise InputError(value)
        if kind == "failed":
            raise RuntimeError(value)
        return value

    def stop(self) -> None:
        """Ask the function that runs now to return what it has, as Ctrl-C does."""
        pipe = self._pipe
        if pipe is not None:
            try:
                pipe.send(("stop", None))
            except OSError:
                return

    def end(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
        if process is not None:
            process.join(ASKED_SECONDS)
            if process.is_alive():
                process.terminate()
                process.join(END_SECONDS)
            if process.is_alive():
                process.kill()

    def _started(self) -> Connection:
        if self._process is None or not self._process.is_alive() or self._pipe is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, other = context.Pipe()
            self._process = context.Process(target=_work, args=(self._prepare, other), daemon=True)
            self._process.start()
            other.close()
        return self._pipe


def _work(prepare: Callable[[], dict[str, Callable[..., Any]]], pipe: Connection) -> None:
    """Carry out calls until the pipe is closed; runs in the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C on the terminal is for the server
    calls: queue.Queue[Any] = queue.Queue()
    busy = threading.Event()
    threading.Thread(target=_listen, args=(pipe, calls, busy), daemon=True).start()
    functions = prepare()
    while (call := calls.get()) is not None:
        name, arguments = call
        signal.signal(signal.SIGINT, signal.default_int_handler)
        busy.set()
        try:
            answer = "done", functions[name](lambda value: pipe.send(("told", value)), **arguments)
        except KeyboardInterrupt:
            answer = "refused", "it was stopped before there was an answer"
        except DagoptError as error:
            answer = "refused", str(error)
        except MemoryError:
            answer = "refused", "there is not enough memory; leave out columns, or limit the number of parents"
        except Exception as error:
            answer = "failed", f"{type(error).__name__}: {error}"
        finally:
            busy.clear()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            pipe.send(answer)
        except OSError:
            return


def _listen(pipe: Connection, calls: queue.Queue[Any], busy: threading.Event) -> None:
    """Pass calls on; a request to stop interrupts the main thread, as Ctrl-C would."""
    while True:
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            if busy.is_set():
                _thread.interrupt_main()  # the server has gone: what was found by now is written
            calls.put(None)
            return
        if message[0] != "stop":
            calls.put(message)
        elif busy.is_set():
            _thread.interrupt_main()
