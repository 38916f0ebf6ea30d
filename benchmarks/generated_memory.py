"""A generator of realistic databases: developers' exchanges in Japanese, English and code.

The text is made from word lists of this file, with word frequencies that fall like natural ones (Zipf), so the
word index and the trigram table have the shape that real memories give them. The same seed gives the same rows.
"""

import random
from datetime import UTC, datetime, timedelta

from kizami_core.retrieval import word_index
from kizami_core.storage.connection import open_database, transaction

KANJI = """認証 在庫 決済 予約 通知 検索 画面 設定 権限 履歴 集計 請求 顧客 商品 注文 配送 倉庫 監視 障害 復旧 移行 接続 暗号 署名 証明 期限
更新 削除 追加 変更 取得 登録 一覧 詳細 入力 出力 検証 例外 再試行 並列 排他 競合 整合性 索引 分割 統合 依存 循環 抽象 実装 設計 方針 規約 命名
型推論 非同期 同期 待機 応答 遅延 負荷 上限 閾値 初期値 環境変数 実行 構築 配布 公開 試験 計測 性能 記憶 圧縮 解凍 転送 受信 送信 経路 時刻 曜日
言語 翻訳 文字 書式 改行 空白 配列 辞書 木構造 行列 乱数 確率 統計 回帰 学習 推論 評価 精度 再現率 利用者 管理者 所有者 会員 退会 入会""".split()
KATAKANA = """サーバー クライアント データベース キャッシュ トークン セッション クエリ インデックス マイグレーション トランザクション ロールバック
コンテナ クラスタ デプロイ リリース ブランチ コミット マージ レビュー テスト モック フィクスチャ カバレッジ フォーム ボタン モーダル レイアウト
コンポーネント フック ルーティング ミドルウェア ログ メトリクス アラート ダッシュボード ジョブ キュー ワーカー スレッド プロセス メモリ バッファ ストリーム
パーサー コンパイラ リンター フォーマッター エディタ プラグイン ライブラリ フレームワーク インターフェース ジェネリクス""".split()
ENGLISH = """cache token session query index migration transaction rollback container cluster deploy release branch commit
merge review fixture coverage form button modal layout component hook router middleware metric alert dashboard job queue
worker thread process memory buffer stream parser compiler linter formatter editor plugin library framework interface
generic retry timeout backoff limit threshold default environment build publish measure latency throughput compress
schema column constraint trigger cursor batch shard replica leader election quorum snapshot checkpoint replay event
handler listener dispatch render hydrate bundle chunk asset locale currency invoice refund order shipment stock""".split()
JA = (
    "{a}の{b}で{c}が起きたので、{d}に切り替えました。",
    "{a}は`{i}`で行い、{b}の{c}は{n}件までにします。",
    "原因は{a}の{b}でした。`{f}`の{n}行目で{c}を先に{d}しています。",
    "{a}と{b}のどちらを使うか迷いましたが、{c}の{d}が単純なので{a}を採用します。",
    "{k}の{a}を{n}秒に下げたところ、{b}の{c}は{m}%減りました。",
    "{k}側の{a}は今のままで、{b}だけ{k2}へ移します。",
)
EN = (
    "The {a} {b} failed because the {c} was not released, so `{i}` now closes it.",
    "I moved the {a} into `{f}` and kept the {b} {c} at {n}.",
    "We chose {a} over {b}: the {c} {d} is simpler and {m}% faster.",
    "`{i}` retries the {a} {n} times before the {b} gives up.",
    "Tests for the {a} {b} pass; the {c} one takes {n} s.",
)
ASK_JA = (
    "{a}の{b}が遅い。原因を調べて",
    "{k}で{a}を{b}する方法を決めたい",
    "`{i}` の{a}を{b}にして",
    "{a}と{k}の{b}を直して",
)
ASK_EN = (
    "why does the {a} {b} fail?",
    "add a {a} to `{f}`",
    "how should we handle {a} {b}?",
    "rename `{i}` and fix the {c}",
)


class Words:
    """Draws words with falling frequencies."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def draw(self, words):
        return words[
            min(int(self.random.paretovariate(0.6)) - 1, len(words) - 1)
            if self.random.random() < 0.5
            else self.random.randrange(len(words))
        ]

    def identifier(self):
        parts = [self.draw(ENGLISH) for _ in range(self.random.choice((2, 2, 3)))]
        return (
            parts[0] + "".join(part.title() for part in parts[1:])
            if self.random.random() < 0.5
            else "_".join(parts)
        )

    def path(self):
        folder = self.random.choice(("src", "app", "lib", "tests", "packages/core"))
        return f"{folder}/{self.draw(ENGLISH)}/{self.identifier()}.{self.random.choice(('ts', 'py', 'go', 'rb'))}"

    def fill(self, template, words):
        letters = {letter: self.draw(words) for letter in "abcd"}
        numbers = {"n": self.random.randrange(2, 500), "m": self.random.randrange(3, 95)}
        return template.format(
            **letters,
            **numbers,
            k=self.draw(KATAKANA),
            k2=self.draw(KATAKANA),
            i=self.identifier(),
            f=self.path(),
        )

    def exchange(self):
        japanese = self.random.random() < 0.6
        ask, say, words = (ASK_JA, JA, KANJI) if japanese else (ASK_EN, EN, ENGLISH)
        lines = ["[User]", self.fill(self.random.choice(ask), words), "", "[Assistant]"]
        size = self.random.lognormvariate(6.42, 0.55)
        while sum(map(len, lines)) < size:
            lines.append(self.fill(self.random.choice(say), words))
            if self.random.random() < 0.12:
                name = self.identifier()
                lines += [
                    "",
                    "```ts",
                    f"export function {name}({self.draw(ENGLISH)}: string) {{",
                    f"  return {self.identifier()}({self.random.randrange(99)});",
                    "}",
                    "```",
                    "",
                ]
        for _ in range(self.random.choice((0, 1, 1, 2, 4))):
            lines.append(f"[Tool: {self.random.choice(('Edit', 'Read', 'Grep'))}] {self.path()}")
            lines.append(f"[Tool: Bash] npm test -- {self.identifier()} → {self.random.randrange(90)} passed")
        return "\n".join(lines)


def generate(path, chunks, *, seed=1, projects=12, now=None):
    """Fill a new database; return (connection, project paths), the projects by falling size."""
    words = Words(seed)
    now = now or datetime.now(UTC)
    paths = [f"/home/dev/projects/project-{number}" for number in range(projects)]
    connection = open_database(path)
    made = 0
    while made < chunks:
        with transaction(connection):
            for _ in range(50):
                size = min(words.random.randrange(10, 150), chunks - made)
                if not size:
                    break
                project = paths[min(int(words.random.paretovariate(0.7)) - 1, projects - 1)]
                started = now - timedelta(days=words.random.uniform(0, 80))
                session = f"{words.random.getrandbits(128):032x}"
                at = started.strftime("%Y-%m-%d %H:%M:%S")
                connection.execute(
                    "INSERT INTO sessions(session_id, project_path, started_at, ended_at, chunk_count, first_message,"
                    " last_message) VALUES (?, ?, ?, ?, ?, 'first', 'last')",
                    (session, project, at, at, size),
                )
                connection.executemany(
                    "INSERT INTO chunks(session_id, project_path, chunk_index, content, role, metadata, created_at,"
                    " token_count) VALUES (?, ?, ?, ?, 'mixed', ?, ?, 300)",
                    [
                        (
                            session,
                            project,
                            index,
                            words.exchange(),
                            f'{{"filePaths":["{words.path()}"],"toolNames":["Edit"],"errorMessages":[]}}',
                            at,
                        )
                        for index in range(size)
                    ],
                )
                made += size
            word_index.refresh(connection)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return connection, paths
