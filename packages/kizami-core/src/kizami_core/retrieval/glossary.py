"""A developer's glossary: words that mean the same in Japanese and English, and close synonyms of a trade.

A prompt in one language finds what was said in the other, and 遅い finds 性能, without any model. Written
from general knowledge of the field, not from any evaluation set. It serves queries alone: the index holds
what was written, and a translation counts for less than the word itself.
"""

from __future__ import annotations

from kizami_core.retrieval.terms import stem

# One line, one meaning. Kanji with their okurigana as far as a word can be told by it; katakana without the
# final ー; English in any inflection.
_MEANINGS = """
アカウント account
アクセス access
アクセシビリティ accessibility a11y
アップグレード upgrade
アップデート 更新 update
アップロード upload
アプリ アプリケーション app application
アラート 警報 alert
アルゴリズム algorithm
イベント event
イメージ image
インクリメント increment
インスタンス instance
インストール 導入 install
インターフェース インタフェース interface
インデックス 索引 index
インデント 字下げ indent
インフラ infrastructure infra
インポート 取り込 取込 import
ウィジェット widget
ウィンドウ window
ウェブ web
エクスポート 書き出 export
エスケープ escape
エディタ editor
エラー 失敗 error fail failure
エンコード エンコーディング 文字コード encoding encode
エンドポイント endpoint
オブジェクト object
オプション option flag
オフライン offline
オンライン online
カーソル cursor
カート cart
カラム 列 column
カレンダ calendar
キー key
キーワード keyword
キャッシュ cache
キャプチャ capture
キャンセル 取り消 取消 cancel
キュー 待ち行列 queue
クエリ 問い合わせ query
クライアント client
クラウド cloud
クラス class
クラスタ cluster
クラッシュ 異常終了 crash
クリック click
クレジット credit
クローン clone
グラフ graph chart
グループ group
グローバル global
コード code
コマンド command
コミット commit
コメント comment
コンテナ container docker
コンテンツ content
コンパイル compile
コンフリクト 衝突 競合 conflict
コンポーネント 部品 component
サーバ server
サービス service
サイズ 大きさ size
サンプル 見本 sample example
シークレット 秘密 機密 secret credential
システム system
シミュレーション simulation
シャットダウン shutdown
ショートカット shortcut
シリアライズ serialize
シリアル serial
スキーマ schema
スクリプト script
スクロール scroll
スケジュール 予定 schedule
スケジューラ 定期実行 cron scheduler
スコープ scope
スタイル style css
スタック stack
ステージング staging
ステータス 状態 status state
ストリーム stream
ストレージ storage
スナップショット snapshot
スパム spam
スレッド thread
セキュリティ 安全 security secure
セッション session
セットアップ 準備 setup
ソース source
ソート 並べ替 並び替 並び順 順序 sort order
タイプ 型 type
タイトル 題名 title
タイマ timer
タイムアウト 時間切 timeout
タイムゾーン 時差 timezone
タグ tag
タスク task
タブ tab
ダウンロード download
ダッシュボード dashboard
チーム team
チェック check
チケット ticket issue
チャート chart
チャネル チャンネル channel
テーブル 表 table
テーマ theme
ディスク disk
ディレクトリ フォルダ directory folder
データ data
データベース database db postgres mysql sqlite
テキスト text
テスト 試験 test spec
テンプレート 雛形 template
デバッグ debug
デバイス 端末 device
デフォルト 既定 初期値 default
デプロイ 配備 デプロイメント deploy deployment release
トークン token
トランザクション transaction
トリガ trigger
ドキュメント 文書 資料 document documentation doc
ドメイン domain
ドライバ driver
ナビゲーション navigation
ネットワーク 通信 network
ノード node
ハッシュ hash
ハンドラ handler
バージョン 版 version
バグ 不具合 bug defect
バックアップ 退避 backup
バックエンド backend
バックグラウンド background
バッチ 一括 batch bulk
バッファ buffer
バリデーション 検証 入力チェック validation validate
パーサ 構文解析 parser parse
パース 解析 parse
パス 経路 path
パスワード password
パッケージ package
パッチ patch
パフォーマンス 性能 遅い 遅く 速度 高速 performance slow speed latency
パラメータ 引数 parameter argument
ビルド build
ファイル file
ファイアウォール firewall
フィールド 項目 field
フィルタ 絞り込 filter
フォーマット 書式 整形 format
フォーム form
フォント 字体 font
フック hook
フラグ flag
フレームワーク framework
フロントエンド frontend
ブラウザ browser
ブランチ branch
ブロック block
プッシュ push
プラグイン 拡張機能 plugin extension
プルリクエスト pull request
プレビュ preview
プロキシ proxy
プロジェクト project
プロセス process
プロトコル protocol
プロパティ property
プロンプト prompt
ページ page
ページネーション ページング ページ送 pagination paging
ベンチマーク benchmark
ヘッダ header
ホスト host
ボタン button
ポート port
ポーリング polling poll
ポリシ 方針 規約 policy convention
マージ 統合 merge
マイグレーション 移行 migration migrate
マウント mount
マスタ master
メール 電子メール email mail smtp
メソッド method
メタデータ metadata
メッセージ message
メトリクス 指標 metric
メニュ menu
メモリ memory
メンテナンス 保守 maintenance
モーダル ダイアログ modal dialog
モジュール module
モック mock stub
モデル model
モニタリング 監視 monitoring monitor
ユーザ 利用者 user
ユニーク 一意 unique
ライセンス license
ライブラリ library
ラベル label
ランダム 乱数 random
リクエスト 要求 request
リスト 一覧 list
リソース 資源 resource
リダイレクト 転送 redirect
リトライ 再試行 再送 retry
リファクタリング refactor refactoring
リポジトリ repository repo
リモート remote
リリース 公開 release publish
リンク link
ルータ ルーティング router routing route
ルール 規則 rule
レイアウト 配置 layout
レート制限 rate throttle
レコード 行 record row
レスポンス 応答 response reply
レビュ review
レプリケーション 複製 replication replica
ローカル local
ロード 読み込 読込 load
ロールバック 巻き戻 rollback revert
ログ log
ログアウト logout signout
ログイン サインイン login signin
ロック 排他 lock
ロジック logic
ワーカ worker
ワークフロ workflow
暗号 暗号化 encryption encrypt crypto
異常 anomaly abnormal
依存 依存関係 dependency depend
印刷 print
引用 quote
運用 operation ops
画像 写真 image picture photo
画面 screen view
開発 development develop
外部 external
確定 finalize
監査 audit
環境 environment env
環境変数 env environment
関数 function
管理 admin administration manage
管理者 admin administrator
基準 criterion threshold
期限 期限切 有効期限 expiry expiration deadline expire ttl
起動 start startup boot launch
記録 record
機能 feature
拒否 reject deny
共有 share
許可 権限 permission authorization
金額 料金 価格 amount price
区切 delimiter separator
計算 calculation calculate compute
結果 result
検索 search
権限 permission role
原因 cause reason
言語 language locale
個人情報 personal pii privacy
公開鍵 public key
互換 compatibility compatible
構成 設定 config configuration setting
顧客 customer client
誤検知 false positive
在庫 inventory stock
再起動 restart reboot
再生 play playback
最適化 optimization optimize
削除 消す 消し delete remove
作成 create
参照 reference
支払 支払い 決済 payment pay
時間 時刻 time
時刻 timestamp clock
自動 自動化 automatic auto automate
実行 execution execute run
実装 implementation implement
社内 internal
受信 receive
集計 aggregate aggregation
重複 二重 duplicate dedupe
終了 停止 stop exit terminate
出力 output
署名 signature sign
初期化 initialize init
証明書 certificate tls ssl
障害 incident outage
条件 condition
詳細 detail
情報 information info
正規化 normalize normalization
正規表現 regex regexp
生成 generate generation
税 消費税 税率 tax
請求 請求書 invoice billing
切断 disconnect
接続 connection connect
設計 design architecture
設定 config setting configuration
選択 select choice
送信 送る send
属性 attribute
対応 support
大文字 uppercase
小文字 lowercase
単体テスト unit test
遅延 delay latency lag
注文 order
重複排除 dedupe deduplication
調査 investigation investigate
追加 add
通知 notification notify
締め切り 締切 deadline
定数 constant
電話 phone
登録 register registration
同期 sync synchronize
同時 並行 concurrent concurrency
並列 parallel
動画 video
日時 日付 date datetime
入力 input
認可 authorization
認証 auth authentication
配信 delivery deliver
配列 array
破損 壊れ corrupt corruption broken
範囲 range
反映 apply
比較 compare comparison
非同期 async asynchronous
非推奨 deprecated
表示 display show render
描画 render rendering draw
品質 quality
頻度 frequency
負荷 load
復元 復旧 restore recovery recover
複数 multiple
文字 character
文字化け 文字化 mojibake encoding
文字列 string
分割 split
分析 analysis analytics
変換 convert conversion
変更 change
変数 variable
保存 save store
補完 completion autocomplete
本番 本番環境 production prod
翻訳 translation translate i18n
丸め 端数 四捨五入 rounding round
命名 naming
名前 name
無効 invalid disable
無視 ignore
無限ループ infinite loop
有効 enable valid
優先 優先度 priority
要件 requirement
容量 capacity
予約 reservation booking reserve
例外 exception
履歴 history
連携 integration integrate
連絡先 contact
"""


_text = _MEANINGS.replace("\n", " \n ")
_LONGEST = 6  # characters of a Japanese word in the list that is looked for within a longer one
_LONGEST_ASKED = 40  # characters; what is longer is no word


def alternatives(surface: str) -> tuple[str, ...]:
    """Return other words for a word of a query; none where no meaning is known.

    The list is searched as a text: a table of it would have to be made before every prompt. The work is
    bounded whatever the surface.

    Args:
        surface: a run of one script as written: an English word, katakana, or kanji of any length, whose
            longest part with a meaning counts (認証基盤 → 認証).
    """
    if len(surface) > _LONGEST_ASKED:
        return ()
    if surface.isascii():
        return _others(stem(surface.lower()))
    word = surface.rstrip("ー") if len(surface) > 3 else surface  # noqa: PLR2004 - as the index does
    found = _others(word)
    for length in range(min(_LONGEST, len(word) - 1), 1, -1):
        for start in range(len(word) - length + 1):
            if found:
                return found
            found = _others(word[start : start + length])
    return found


def _others(word: str) -> tuple[str, ...]:
    """Return what stands on the lines of a word (English: of any word with this stem)."""
    found: dict[str, None] = {}
    at = _text.find(f" {word}")
    while at >= 0:
        end = _text.find(" ", at + 1)
        here = _text[at + 1 : end]
        if here == word or (word.isascii() and stem(here) == word):
            begin = _text.rfind("\n", 0, at)
            line = _text[begin + 1 : _text.find("\n", at)].split()
            found.update((other, None) for other in line if other != here)
        at = _text.find(f" {word}", at + 1)
    return tuple(found)
