"""An adapter for the retrieval benchmark, over what `kizami search` calls.

    python ../shared/tools/retrieval/bench.py --cmd "python benchmarks/retrieval_adapter.py" --cap 300

Run it where kizami_core is installed. It speaks JSON lines: {"op": "index", "documents": [{"id", "text"}]} makes a
new database in a temporary folder, one chunk and one session a document, all of one project and one date, so that
age, scope and neighbours stay out of the figures; {"op": "search", "query", "k"} answers with the ids in the order of
`kizami search` and their relevance, on which recall's gate is set. The sets with relevant answers measure the order;
gate-ja and gate-en measure the gate.
"""

import json
import sys
import tempfile
from pathlib import Path

from kizami_core.config import Config
from kizami_core.retrieval import word_index
from kizami_core.searching import search
from kizami_core.storage.connection import open_database, transaction
from kizami_core.transcript.tokens import estimate_tokens

PROJECT = "/project"
WRITTEN, NOW = "2026-01-01 00:00:00", 1_767_225_600.0


def index(connection, documents):
    with transaction(connection):
        connection.executemany(
            """
            INSERT INTO chunks(id, session_id, project_path, chunk_index, content, role, created_at, token_count)
            VALUES (?, ?, ?, 0, ?, 'mixed', ?, ?)
            """,
            [
                (
                    number,
                    f"session {number}",
                    PROJECT,
                    document["text"],
                    WRITTEN,
                    estimate_tokens(document["text"]),
                )
                for number, document in enumerate(documents)
            ],
        )
        connection.executemany(
            """INSERT INTO sessions(session_id, project_path, chunk_count) VALUES (?, ?, 1)""",
            [(f"session {number}", PROJECT) for number in range(len(documents))],
        )
        word_index.refresh(connection)
    return [document["id"] for document in documents]


def found(connection, text, limit, ids):
    config = Config(database_path="")
    hits = search(connection, text, project_path=PROJECT, scope=True, limit=limit, config=config, now=NOW)
    return {"ids": [ids[hit.chunk.id] for hit in hits], "scores": [hit.relevance for hit in hits]}


def answer(folder):
    """Answer the lines of stdin one by one; each set to index gets a database of its own."""
    connection, ids = open_database(str(folder / "0.db")), []
    for number, line in enumerate(sys.stdin, start=1):
        message = json.loads(line)
        if message["op"] == "index":
            connection.close()
            connection = open_database(str(folder / f"{number}.db"))
            ids = index(connection, message["documents"])
            reply = {"ok": True}
        else:
            reply = found(connection, message["query"], message["k"], ids)
        print(json.dumps(reply), flush=True)
    connection.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        answer(Path(temporary))
