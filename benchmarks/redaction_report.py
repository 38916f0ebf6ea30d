"""What redaction masks in a folder of transcripts, and how fast.

    python benchmarks/redaction_report.py FOLDER

Every text of every record is redacted: messages, tool inputs, tool outputs. Masks are listed in two parts: values
assigned to a secret name (expected to be masked, whatever they are), and all others (each of them must be a secret).
"""

from __future__ import annotations

import json
import os
import sys
import time

from kizami_core.privacy import redact
from kizami_core.privacy.named_values import find_named_values
from kizami_core.privacy.private_tags import strip_private
from kizami_core.privacy.secrets import find_secrets
from kizami_core.privacy.triggers import fold


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def texts_of(folder):
    for directory, _, names in os.walk(folder):
        for name in sorted(names):
            if not name.endswith(".jsonl"):
                continue
            with open(os.path.join(directory, name), "rb") as transcript:
                for line in transcript:
                    try:
                        record = json.loads(line)
                    except ValueError:
                        continue
                    if isinstance(record, dict):
                        yield from strings([record.get("message"), record.get("toolUseResult")])


def excerpt(text, start, end):
    return f"{text[max(0, start - 40) : start]!r} {text[start:end]!r} {text[end : end + 20]!r}"


def main(folder):
    texts = list(texts_of(folder))
    megabytes = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) / 1e6
    started = time.process_time()
    changed = sum(redact(text) != text for text in texts)
    seconds = time.process_time() - started
    distinct = dict.fromkeys(texts)
    private = sum(strip_private(text) != text for text in distinct)
    assigned, others = [], []
    for text in distinct:
        named = set(find_named_values(text, fold(text)))
        for span in find_secrets(text):
            (assigned if span in named else others).append(excerpt(text, *span))
    print(
        f"{len(texts)} texts, {megabytes:.1f} MB, {megabytes / seconds:.1f} MB/s of CPU time, {changed} texts changed"
    )
    print(f"{len(distinct)} distinct texts, {private} with a private region")
    print(f"\n{len(assigned)} masks of values assigned to a secret name")
    print(*assigned, sep="\n")
    print(f"\n{len(others)} other masks")
    print(*others, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
