"""Laws of search: any text is a valid one, and filters only take away."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kizami_core.records import Metadata
from kizami_core.retrieval.filters import Filters
from kizami_core.retrieval.matches import matched_spans, matched_words
from kizami_core.retrieval.query import analyze_query
from kizami_core.retrieval.search_syntax import parse_search
from kizami_core.searching import find, read_search
from kizami_core.storage.chunks import metadata_text
from kizami_core.storage.connection import transaction
from memories import NOW, OTHER_PROJECT, PROJECT, MemoryBook, config

_PIECES = [
    *(
        '"',
        "“",
        "”",
        " ",
        "　",
        "-",
        "--",
        "－",
        "-1",
        "*",
        "%",
        "_",
        "\\",
        "'",
        "\x00",
        "\ud83d",
        "々",
        "の方",
    ),
    *("認証", "サーバー", "Redis", "useState", "src/db.ts", "C#", "3.11", "한국어", '-"', '" "', "(NEAR"),
]
TEXT = st.one_of(
    st.lists(st.sampled_from(_PIECES), max_size=12).map("".join),
    st.lists(st.sampled_from(_PIECES), max_size=8).map(" ".join),
    st.text(max_size=40),
)
_TIMES = ["", "2025-06-01 00:00:00", "2025-06-10 12:00:00", "2025-06-20 00:00:00"]
FILTERS = st.builds(
    Filters,
    since=st.sampled_from(_TIMES),
    until=st.sampled_from(_TIMES),
    role=st.sampled_from([None, "user", "assistant"]),
    tools=st.lists(st.sampled_from(["bash", "Edit", "mcp__*", "*", ""]), max_size=2).map(tuple),
    files=st.lists(st.sampled_from(["db.ts", "*.py", "[a", "設計.md", ""]), max_size=2).map(tuple),
    phrases=st.lists(st.sampled_from(["認証", "の方", "redis", "c#"]), max_size=1).map(tuple),
    excluded_words=st.lists(st.sampled_from(["redis", "サーバー", "no"]), max_size=1).map(tuple),
)
_TOOLS = [("Bash",), ("Edit", "Bash"), (), ("mcp__git__log",)]
_FILES = [("src/db.ts",), ("a.py", "docs/設計.md"), (), ("[a",)]


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    made = MemoryBook(tmp_path_factory.mktemp("book") / "memory.db")
    questions = ["認証のサーバー", "Redis の方", "useState 3.11", "C# と src/db.ts", "한국어 佐々木"]
    for number in range(24):
        made.add(
            questions[number % 5],
            questions[(number * 3 + 1) % 5] + f" {number}",
            session=f"s{number % 4}",
            project=OTHER_PROJECT if number % 6 == 5 else PROJECT,
            at=f"2025-06-{number + 1:02} 00:00:00",
        )
    with transaction(made.connection):
        for number in range(24):
            metadata = Metadata(_FILES[number % 4], _TOOLS[number // 2 % 4])
            made.connection.execute(
                "UPDATE chunks SET metadata = ? WHERE id = ?", (metadata_text(metadata), number + 1)
            )
        # As another program may have written it.
        made.connection.execute("UPDATE chunks SET metadata = 'bash db.ts {' WHERE id = 24")
    yield made
    made.connection.close()


def found(book, search):
    return find(book.connection, search, limit=100, config=config(), now=NOW).hits


@settings(max_examples=100, deadline=None)
@given(TEXT, FILTERS, st.sampled_from([True, False, "tiered"]), st.booleans())
def test_no_text_and_no_filter_make_search_raise_and_hits_pass_the_filters(
    book, text, filters, scope, agents
):
    search = read_search(text, project_path=PROJECT, scope=scope, filters=filters, include_agents=agents)
    hits = found(book, search)
    assert all(search.filters.admits(hit.chunk) for hit in hits)
    assert len({hit.chunk.id for hit in hits}) == len(hits)
    assert all(hit.chunk.project_path == PROJECT for hit in hits) or scope is not True


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from(["認証", "サーバー", "Redis", "useState", "3.11", "한국어"]), min_size=1, max_size=3
    ),
    FILTERS,
    st.sampled_from([True, False]),
)
def test_a_filtered_result_is_the_whole_ranking_restricted(book, words, filters, scope):
    # Without phrases: they find what no word of the index does, too.
    search = read_search(
        " ".join(words), project_path=PROJECT, scope=scope, filters=filters.replace(phrases=())
    )
    everything = found(book, search.replace(filters=Filters()))
    restricted = {hit.chunk.id: hit.relevance for hit in everything if search.filters.admits(hit.chunk)}
    assert {hit.chunk.id: hit.relevance for hit in found(book, search)} == restricted


@settings(max_examples=100, deadline=None)
@given(FILTERS)
def test_filters_alone_list_every_chunk_that_passes_newest_first(book, filters):
    search = read_search("", project_path=PROJECT, scope=False, filters=filters)
    if search.filters == Filters():
        return
    everything = found(book, search.replace(filters=Filters(since="2000-01-01 00:00:00")))
    assert found(book, search) == [hit for hit in everything if search.filters.admits(hit.chunk)]
    assert [hit.chunk.id for hit in everything] == list(range(24, 0, -1))


@settings(max_examples=100)
@given(TEXT)
def test_text_without_quotes_and_minus_is_searched_as_it_is(text):
    plain = "".join(character for character in text if character not in '"“”„‟＂-－\x00\ud83d')
    assert analyze_query(parse_search(plain).text) == analyze_query(plain)


@settings(max_examples=100)
@given(TEXT, TEXT)
def test_marks_lie_in_the_text_apart_and_in_order(search, text):
    sought = parse_search(search)
    query = analyze_query(sought.text)
    places = [place for span in matched_spans(query, sought.phrases, text) for place in span]
    assert places == sorted(set(places))
    assert all(0 <= place <= len(text) for place in places)
    assert set(matched_words(query, sought.phrases, text)) <= {
        *sought.phrases,
        *(word.surface for word in query.words),
    }
