from types import SimpleNamespace

import click

from kizami_core.messages import Message
from kizami_hybrid.commands.telling import told

CHUNKS = Message("{count} chunks", count=3)


def test_messages_are_told_as_the_command_line_around_translates_them():
    around = SimpleNamespace(translate=lambda message: f"チャンク {message.fields['count']} 個")
    with click.Context(click.Command("embed"), obj=around):
        assert told(CHUNKS) == "チャンク 3 個"


def test_messages_are_told_in_english_where_nothing_translates():
    with click.Context(click.Command("embed")):
        assert told(CHUNKS) == "3 chunks"
    assert told(CHUNKS) == "3 chunks"
