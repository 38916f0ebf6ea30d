"""What the configuration reference says in each language and the code does not: headings, types, meanings.

Meanings of core's settings are those of the READMEs' tables, which stand there once for all pages.
"""

from __future__ import annotations

LANGUAGES = ("en", "ja")
README = {"en": "README.md", "ja": "README.ja.md"}

HEADINGS = {
    "settings": {
        "en": ("key", "may be", "default", "setup writes", "meaning"),
        "ja": ("項目", "書ける値", "既定値", "setup が書く値", "意味"),
    },
    "variables": {"en": ("variable", "meaning"), "ja": ("変数", "意味")},
}

# What a check of the configuration wants (the English that follows "must be"), for Japanese pages.
WANTED_JA = {
    r"true or false": "`true` か `false`",
    r'true, false or "tiered"': '`true`、`false`、`"tiered"`',
    r'"rrf" or "score"': '`"rrf"` か `"score"`',
    r'"core" or "hybrid"': '`"core"` か `"hybrid"`',
    r"a text": "文字列",
    r'a list of folders or patterns such as (\["[^"]+"\])': r"`\1` のようなフォルダかパターンのリスト",
    r'a repository such as "owner/name"': '`"owner/name"` の形のリポジトリ',
    r"a number from (\S+) to (\S+)": r"\1 から \2 までの数",
    r"a whole number from (\S+) to (\S+)": r"\1 から \2 までの整数",
}

EMBEDDING = {
    "model": {
        "en": "the model, a repository of the Hugging Face hub; `@` and a revision may follow, else the "
        "version that the first setup found is kept",
        "ja": "モデル(Hugging Face のリポジトリ)。`@` に続けて版を指定できる。"
        "指定しなければ、最初の setup で得た版のまま",
    },
    "quantized": {"en": "take the int8 file", "ja": "int8 のファイルを使うかどうか"},
    "dimensions": {
        "en": "length of the vectors; fewer than the model gives are a prefix of them",
        "ja": "ベクトルの長さ。モデルの長さより短ければ、先頭の部分を使う",
    },
    "cacheDir": {"en": "where the model lies", "ja": "モデルの置き場所"},
}

VARIABLES = {
    "KIZAMI_DISABLE": {
        "en": "anything but empty or `0` silences the hooks: nothing is saved, nothing recalled",
        "ja": "空と `0` 以外なら、フックは保存も想起もしない",
    },
    "KIZAMI_CONFIG": {
        "en": "the configuration file, instead of `~/.config/kizami/config.json`",
        "ja": "設定ファイル(`~/.config/kizami/config.json` の代わり)",
    },
    "KIZAMI_DATABASE": {
        "en": "the database; goes before `database.path`",
        "ja": "データベース。`database.path` より優先する",
    },
    "KIZAMI_DATA_DIR": {
        "en": "the folder of the database, the logs and the archives, instead of `~/.local/share/kizami`",
        "ja": "データベース、ログ、アーカイブのフォルダ(`~/.local/share/kizami` の代わり)",
    },
    "KIZAMI_LANG": {
        "en": "the language of the terminal, `en` or `ja`; `--lang` goes before it",
        "ja": "表示の言語(`en` か `ja`)。`--lang` が優先する",
    },
    "LC_ALL, LC_MESSAGES, LANG, LANGUAGE": {
        "en": "the locale, which decides the language where nothing else does",
        "ja": "ロケール。ほかに指定がなければ、これで言語が決まる",
    },
    "XDG_CONFIG_HOME": {
        "en": "the folder that holds `kizami/config.json`",
        "ja": "`kizami/config.json` を置くフォルダ",
    },
    "XDG_DATA_HOME": {
        "en": "the folder that holds `kizami/memory.db`",
        "ja": "`kizami/memory.db` を置くフォルダ",
    },
    "XDG_CACHE_HOME": {
        "en": "the folder that holds the models of kizami-hybrid",
        "ja": "kizami-hybrid のモデルを置くフォルダ",
    },
    "XDG_RUNTIME_DIR": {
        "en": "the folder that holds the socket of kizami-hybrid's process",
        "ja": "kizami-hybrid のプロセスのソケットを置くフォルダ",
    },
    "CLAUDE_CONFIG_DIR": {
        "en": "Claude Code's folder, instead of `~/.claude`",
        "ja": "Claude Code のフォルダ(`~/.claude` の代わり)",
    },
    "CLAUDE_MEM_DATA_DIR": {
        "en": "claude-mem's folder, for `kizami import-claude-mem`",
        "ja": "claude-mem のフォルダ(`kizami import-claude-mem` が使う)",
    },
    "KIZAMI_JSONL_DIR": {
        "en": "the store of the TypeScript Kizami, for `kizami import-typescript`",
        "ja": "TypeScript 版 Kizami の保存先(`kizami import-typescript` が使う)",
    },
    "HF_ENDPOINT": {
        "en": "another address of the Hugging Face hub, for `kizami setup --hybrid`",
        "ja": "Hugging Face の別の接続先(`kizami setup --hybrid` が使う)",
    },
    "NO_COLOR": {"en": "no colours on a terminal", "ja": "端末で色を使わない"},
}
