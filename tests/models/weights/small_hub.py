"""A small hub on this machine: what it serves, and what it was asked for."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class SmallHub:
    """What it serves, and what it was asked for.

    Args:
        prefix: What stands before a file's path.
        content: File by path.
        listing: What it tells of the repository, where it is asked for that.
        breaks_off: For each answer in turn: after how many bytes it ends, or None.
        silent: An answer that breaks off falls silent instead of closing.
        ranges: Whether it knows them.
    """

    prefix: str
    content: dict[str, bytes]
    listing: Any = None
    breaks_off: list[int | None] = field(default_factory=list)
    silent: bool = False
    ranges: bool = True
    asked: list[tuple[str, str]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    url: str = ""


@contextmanager
def serving(small: SmallHub) -> Iterator[SmallHub]:
    """While entered, it answers."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            path = self.path.removeprefix(small.prefix)
            asked = self.headers.get("Range", "")
            small.asked.append((path, asked))
            if path.startswith("/api/") and small.listing is not None:
                told = small.listing
                content = told if isinstance(told, bytes) else json.dumps(told).encode()
            elif path in small.content:
                content = small.content[path]
            else:
                self.send_error(404)
                return
            start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and small.ranges else 0
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            end = small.breaks_off.pop(0) if small.breaks_off else None
            self.wfile.write(content[start : None if end is None else start + end])
            if end is not None and small.silent:
                self.wfile.flush()
                small.over.wait(60)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    small.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield small
    finally:
        small.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
