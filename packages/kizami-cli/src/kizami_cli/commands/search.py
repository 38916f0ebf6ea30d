"""`kizami search`: memories by words, phrases and filters, best first."""

from __future__ import annotations

import time
from functools import partial

import click

from kizami_cli.chunk_text import chunk_json, show_chunk
from kizami_cli.console import say, short_ids, show_json
from kizami_cli.invocation import Invocation, agents_option, common_options
from kizami_cli.language import _
from kizami_core.privacy import redact_for_display
from kizami_core.retrieval.filters import Filters
from kizami_core.retrieval.matches import matched_spans, matched_words
from kizami_core.retrieval.search_syntax import comparable
from kizami_core.retrieval.snippet import snippet
from kizami_core.searching import find, narrowing, read_search
from kizami_core.storage.marks import all_marks
from kizami_core.storage.sessions import list_sessions
from kizami_core.timestamps import parse_since, parse_until

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kizami_core.records import Hit
    from kizami_core.retrieval.filters import Speaker
    from kizami_core.searching import Findings, Search
    from kizami_core.storage.marks import Mark

_SHOWN_TOKENS = 200  # of each chunk
_COUNTED = 100  # at most, to say which filter leaves nothing
# A phrase tells more than any word, whose weights are at most 1.
_PHRASE_WEIGHT = 3.0


@click.command("search")
@common_options
@agents_option
@click.argument("words", metavar="QUERY...", nargs=-1)
@click.option(
    "--since", metavar="AGE|DATE", help="Only what was said since then: 7d, 2026-11-01, 2026-11-01T12:00."
)
@click.option(
    "--until", metavar="AGE|DATE", help="Only what was said until then, that day or minute included."
)
@click.option(
    "--role",
    type=click.Choice(["user", "assistant"]),
    help="Look only at what you said, or only at what Claude said and did.",
)
@click.option(
    "--tool", "tools", metavar="NAME", multiple=True, help="Only where this tool was used: Bash, 'mcp__*'."
)
@click.option(
    "--file",
    "files",
    metavar="NAME",
    multiple=True,
    help="Only where this file is mentioned: the end of its path, or a pattern: pool.ts, 'src/*.py'.",
)
@click.option(
    "--limit", type=click.IntRange(1, 1000), help="At most this many  [default: search.defaultLimit, 5]"
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a list of hits, see above.")
@click.pass_obj
def command(
    invocation: Invocation,
    words: tuple[str, ...],
    *,
    since: str | None,
    until: str | None,
    role: Speaker | None,
    tools: tuple[str, ...],
    files: tuple[str, ...],
    limit: int | None,
    include_agents: bool,
    as_json: bool,
) -> None:
    """Search the memories, in the projects that search.projectScope names.

    Words find memories that hold some of them, the best first. A phrase in double quotes must occur as it
    stands, and what follows a minus must not. Give the shell the whole in single quotes:

    \b
      kizami search 'connection pool "SKIP LOCKED" -redis -"dead lock"'

    A minus within a word, before another minus or before a digit is an ordinary character; to look for
    what begins with one, quote it: '"-rf"'. Without words everything that passes the options is listed, the
    newest first. Of --tool and --file several may be given: one of each has to fit.

    \b
    --json prints a list, best first, of
      score      what orders the hits
      relevance  from 0 to 1; without words both are 0
      terms      the phrases and words of the query that it holds
      marks      "muted", "pinned", both or neither, as a list
    and the fields that `kizami show --json` prints.
    """  # noqa: D301 - click's mark for text that is not to be wrapped
    text = " ".join(words)
    now = time.time()
    filters = Filters(
        since=parse_since(since, now) if since else "",
        until=parse_until(until, now) if until else "",
        role=role,
        tools=tools,
        files=files,
    )
    if not text.strip() and filters == Filters():
        raise click.UsageError(_("Missing argument 'QUERY': words to look for, or an option such as --file."))
    config = invocation.config
    search = read_search(
        text,
        project_path=invocation.project_path(),
        scope=False if invocation.all_projects else config.project_scope,
        include_agents=include_agents,
        filters=filters,
    )
    with invocation.database() as connection:
        with invocation.vectors(text, now, include_agents=include_agents) as vectors:
            findings = find(
                connection,
                search,
                limit=limit or config.default_limit,
                config=config,
                now=now,
                vectors=vectors,
            )
        marks = all_marks(connection)
        if as_json:
            show_json(
                [{**_hit_json(search, hit), "marks": marks.get(hit.chunk.id, [])} for hit in findings.hits]
            )
            return
        if findings.hits:
            sessions = list_sessions(connection, include_agents=True)
            _show(search, findings, [session.session_id for session in sessions], marks)
            return
        steps = list(narrowing(connection, search, limit=_COUNTED, config=config, now=now))
    labels = {
        "since": _("since {time}", time=since),
        "until": _("until {time}", time=until),
        "role": _("in which the user speaks") if role == "user" else _("in which the assistant speaks"),
        "any_of": _("in what the user says") if role == "user" else _("in what the assistant says"),
        "tools": _("with the tool {names}", names=_any(tools)),
        "files": _("with the file {names}", names=_any(files)),
        "phrases": _("with {texts}", texts=_all(search.filters.phrases)),
        "excluded_phrases": _("without {texts}", texts=_all(search.filters.excluded_phrases)),
        "excluded_words": _("without {texts}", texts=_all(search.filters.excluded_words)),
    }
    found = _why_nothing(search, steps, labels)
    if not invocation.all_projects:
        found = _("{found} --all-projects searches those of all projects.", found=found)
    say(found)


def _show(
    search: Search, findings: Findings, session_ids: Iterable[str], marks: Mapping[int, Sequence[Mark]]
) -> None:
    shorten = short_ids(session_ids)
    phrases = search.filters.phrases
    weights = {comparable(phrase): _PHRASE_WEIGHT for phrase in phrases}
    if search.has_words and not any(
        hit.relevance or _terms(search, hit.chunk.content) for hit in findings.hits
    ):
        say(_("No memory holds words of this. Nearest in meaning:"))
    for hit in findings.hits:
        chunk = hit.chunk
        # What is cut before it is masked may not be known as a secret any more.
        text = search.filters.text_of(redact_for_display(chunk.content))
        show_chunk(
            chunk,
            snippet(text, {**findings.rarities.get(chunk.id, {}), **weights}, _SHOWN_TOKENS),
            session=shorten(chunk.session_id),
            project="" if chunk.project_path == search.project_path else chunk.project_path,
            relevance=f"{hit.relevance:.2f}" if search.has_words else "",
            labels=marks.get(chunk.id, []),
            find_spans=partial(matched_spans, search.query, phrases),
        )


def _hit_json(search: Search, hit: Hit) -> dict[str, object]:
    fields = chunk_json(hit.chunk)
    return {
        "score": hit.score,
        "relevance": hit.relevance,
        "terms": _terms(search, fields["content"]),
        **fields,
    }


def _terms(search: Search, content: str) -> list[str]:
    """Return the phrases and words of the query that a memory's text holds."""
    return matched_words(search.query, search.filters.phrases, search.filters.text_of(content))


def _why_nothing(search: Search, steps: Sequence[tuple[str, int]], labels: Mapping[str, str]) -> str:
    """Return what is left by each filter in turn: "3 memories hold words of this, none since 7d."."""
    (_name, found), *narrowed = steps
    if not found:
        return _("No memory holds this.") if search.has_words else _("There is no memory yet.")
    told = [_hold_words(found) if search.has_words else _memories(found)]
    before = found
    for name, left in narrowed:
        if left < before or not left:
            told.append(_left(left, labels[name], is_first=not told[1:]))
        before = left
    return _("{steps}.", steps=_(", ").join(told))


def _hold_words(found: int) -> str:
    if found == 1:
        return _("1 memory holds words of this")
    return _("{number} memories hold words of this", number=_number(found))


def _memories(found: int) -> str:
    return _("1 memory") if found == 1 else _("{number} memories", number=_number(found))


def _left(left: int, label: str, *, is_first: bool) -> str:
    if not left:
        return _("none {that}", that=label) if is_first else _("none of them {that}", that=label)
    number = _number(left)
    if is_first:
        return _("{number} {that}", number=number, that=label)
    return _("{number} of them {that}", number=number, that=label)


def _number(number: int) -> str:
    return _("{number} or more", number=number) if number == _COUNTED else str(number)


def _any(names: Sequence[str]) -> str:
    return _(" or ").join(names)


def _all(texts: Sequence[str]) -> str:
    return _(" and ").join(f'"{text}"' for text in texts)
