"""A Hugging Face hub of one repository, on this machine: what the hub's own client asks of it."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import small_models

OLD_COMMIT, COMMIT = "a" * 40, "b" * 40


class LocalHub:
    """Serves the files of a directory as ``owner/name`` for a block.

    ``requests`` holds "METHOD path" of each; ``damaged`` is a file of which other bytes arrive.
    """

    def __init__(self, directory: Path, repository: str = "owner/ruri-v3-small") -> None:
        self.directory = directory
        self.repository = repository
        self.requests: list[str] = []
        self.damaged = ""
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self):
                hub._answer(self, with_body=False)

            def do_GET(self):
                hub._answer(self, with_body=True)

            def log_message(self, *_):
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _files(self):
        return {
            path.relative_to(self.directory).as_posix(): path
            for path in sorted(self.directory.rglob("*"))
            if path.is_file()
        }

    def _info(self, commit):
        siblings = [
            {"rfilename": name, "size": path.stat().st_size}
            | (
                {"lfs": {"size": path.stat().st_size, "sha256": small_models.sha256(path), "pointerSize": 1}}
                if name.endswith(".onnx")
                else {}
            )
            for name, path in self._files().items()
        ]
        return json.dumps({"id": self.repository, "sha": commit, "siblings": siblings}).encode()

    def _answer(self, handler, *, with_body):
        path = handler.path.partition("?")[0]
        self.requests.append(f"{handler.command} {path}")
        body, headers, status = b"", {}, 404
        info, files = f"/api/models/{self.repository}/revision/", f"/{self.repository}/resolve/"
        if path.startswith(info):
            revision = path.removeprefix(info)
            if revision in ("main", COMMIT, OLD_COMMIT):
                body, status = self._info(COMMIT if revision == "main" else revision), 200
                headers["Content-Type"] = "application/json"
        elif path.startswith(files):
            commit, _, name = path.removeprefix(files).partition("/")
            if name in self._files():
                body, status = self._files()[name].read_bytes(), 200
                headers |= {"X-Repo-Commit": commit, "ETag": f'"{small_models.sha256(self._files()[name])}"'}
                if name == self.damaged:
                    body = bytes(len(body))
        handler.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(body))}).items():
            handler.send_header(name, value)
        handler.end_headers()
        if with_body:
            handler.wfile.write(body)
