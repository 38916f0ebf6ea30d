"""English words that carry no topic. Written from general knowledge, not from any evaluation set."""

from __future__ import annotations

ENGLISH_STOP_WORDS = frozenset(
    """
    a about after all also am an and any are as at be because been before being both but by can could did do
    does doing don done for from get go had has have he her here him his how i if in into is it its just let
    like ll make may me might more most my need no not now of off on one only or other our out over own please
    re s same she should so some such t than that the their them then there these they this those through to
    too under until up us use ve very want was we were what when where which while who why will with would
    yes you your
    """.split()
)

# Words of a prompt that only steer the conversation: politeness, greetings, assent, "go on". They are left out
# of queries, never of the index.
ENGLISH_CHAT_WORDS = frozenset(
    """
    ahead alright anyway appreciate awesome bye cheers continue cool correct else excellent exactly fine good
    great hello help hey hi indeed kindly last lgtm looks maybe morning much nice nope ok okay once perfect
    previous previously proceed quick remember right sorry sounds sure tell thank thanks thing think time today
    try well wonderful work works wrong yeah yep yup again already back bit first got happy hold keep know many
    new next say see seem something still stop thought wait way whatever
    """.split()
)
# Runs of kanji or katakana, and kanji with their first kana.
JAPANESE_CHAT_WORDS = frozenset(
    """
    願 願い 教 教え 下 下さ 頂 頂け 頂き 頂い 致 致し 申 申し 有難 有り 御 宜 宜し 了解 承知 感謝 失礼 質問 相談 確認 説明
    作業 今回 今日 昨日 明日 先日 先程 先ほ 以前 前回 次回 最近 現在 今 前 後 次 件 時 方 事 物 者 何 私 僕 俺 皆 皆様
    様 場合 自分 我々 お疲 疲 疲れ 疲れ様 様で 助 助か 続 続け 続き 進 進め 行 行っ 行き 行い 行う 言 言っ 言う 思 思い 思っ 思う
    出来 分 分か 良 良い 良さ 良か 悪 悪い 大丈夫 問題 完璧 最高 素晴 素晴ら 正解 結構 予定 途中 最後 最初 全部 一旦 一応 以上 以下
    同様 同じ 同 本当 多分 少 少し 早速 早 是非 何卒 恐縮 恐れ 入 入り 幸 幸い 困 困っ 忘 忘れ 覚 覚え 知 知り 聞 聞き 聞い 話 話し 見
    見て 見せ 使 使っ 使う 使い 欲 欲し 必要 貰 貰え 戴 感 感じ 他 別 上 中 内 間 的 通 通り 度 回 一度 再度 点 形 風 旨 為 人
    ケース パターン サンキュー オッケー オーケー
    """.split()
)
# What is told to do with the work at hand (English as stems). A prompt of these alone asks for no memory; in any
# other they count like every word.
STEERING_WORDS = frozenset(
    """
    run test commit push pull merg build lint format fix undo revert abort cancel stop paus resum retry rerun check
    green red pass fail error code fil branch diff pr change updat delet remov add mak appl accept reject mind
    deploy sav open clos restart start finish done edit rewrit simplify explain show lin comment all both
    止 止め 待 待っ 中断 再開 戻 戻し 戻す 元 直 直し 直す 消 消し 消す 試 試し 変 変え 変更 修正 削除 追加 実行 実装 作成
    更新 反映 適用 却下 採用 送信 誤送信 誤爆 保留 再度 再実行 起動 停止 終了 開始 整形 差分 動 動か 動い 通 通し 通っ 出 出し 書
    書い 書き 読 読ん 開 開い 閉 閉じ 選 選択 完了 破棄 取 取り 取り消 押 押し テスト コミット プッシュ プル マージ ビルド リント
    デプロイ ファイル コード ブランチ エラー コメント キャンセル ストップ
    """.split()
)
