"""What `search.mode: "hybrid"` runs: the vectors' side of a recall or a search, and word to who makes them.

The hooks import this, so it imports no more than they may (ARCHITECTURE.md, "The hook path"). Whatever is
wrong with the model, its process or the vectors is a ``problem``, one sentence for the error log, and the
answer is that of the words.
"""

from __future__ import annotations

import time
from math import inf

from kizami_hybrid.resident.client import begin_search
from kizami_hybrid.resident.client import wake as wake_process
from kizami_hybrid.settings import load_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kizami_core.config import Config, Fusion
    from kizami_core.retrieval.vector_source import Judgement
    from kizami_hybrid.resident.client import Pending
    from kizami_hybrid.settings import EmbeddingSettings

# How many of the nearest chunks are asked for: candidates first, then what is merely like the query.
NEAREST = 100
# What a prompt waits for the vectors, from when it asked for them.
_HOOK_SECONDS = 0.1
# What a person who types a command waits, for a process that has yet to start, too.
_COMMAND_SECONDS = 5.0
_POLL_SECONDS = 0.02


class ResidentVectors:
    """The resident process as core's ``VectorSource``, for one query. To be closed.

    Args:
        settings: the model.
        env: the environment.
        text: the prompt, or the words of a search.
        config: the database, and how orders are fused.
        now: seconds since the epoch.
        is_hook: wait no longer than a prompt may, and not for a process to start.
        include_agents: whether sub-agents' sessions count, too.
    """

    def __init__(
        self,
        settings: EmbeddingSettings,
        env: Mapping[str, str],
        text: str,
        *,
        config: Config,
        now: float,
        is_hook: bool,
        include_agents: bool = False,
    ) -> None:
        self._settings = settings
        self._env = env
        self._text = text
        self._config = config
        self._now = now
        self._is_hook = is_hook
        self._include_agents = include_agents
        self._pending: Pending | None = None
        self._asked: str | None = None
        self._is_awaited = False
        self._is_answered = False
        self._deadline = 0.0
        self._cosines: dict[int, float] = {}

    @property
    def problem(self) -> str:
        """Why there was no answer, in one sentence that ends with the remedy; "" if nothing is wrong."""
        return self._pending.problem if self._pending is not None else ""

    @property
    def can_answer(self) -> bool:
        """Whether an answer may come to what was asked: not where no process runs."""
        return self._pending is not None and self._pending.is_sent

    @property
    def odds(self) -> float:
        """The most that vectors multiply the odds of a relevance by, of what is asked next."""
        if self._is_hook and self._is_answered:
            return 1.0
        from kizami_hybrid.relevance import MOST_ODDS, expects_a_memory

        return inf if expects_a_memory(self._text) else MOST_ODDS

    def ask(self, project_path: str | None) -> None:
        """Send the query, for one project or for all; a hook returns at once.

        What was asked last and not looked at yet is not asked again. A hook asks once: searching the vectors
        of all projects after those of the present one takes as long as all the rest.
        """
        if self._is_awaited and self._asked == project_path:
            return
        self._cosines = {}
        self._is_awaited = self._pending is None or not self._is_hook
        self._asked = project_path
        if self._pending is not None:
            if self._is_awaited:
                self._pending.search_again(project_path)  # within the same time
            return
        seconds = _HOOK_SECONDS if self._is_hook else _COMMAND_SECONDS
        self._deadline = time.monotonic() + seconds
        self._pending = self._begin(project_path)
        while self._pending.is_starting and not self._is_hook and time.monotonic() < self._deadline:
            time.sleep(_POLL_SECONDS)
            self._pending = self._begin(project_path)

    def _begin(self, project_path: str | None) -> Pending:
        return begin_search(
            self._settings,
            self._env,
            self._text,
            database=self._config.database_path,
            project=project_path,
            limit=NEAREST,
            now=self._now,
            include_agents=self._include_agents,
            is_hook=self._is_hook,
        )

    def nearest(self) -> Sequence[int]:
        """Return the chunks nearest to what was asked last, nearest first; none without an answer in time."""
        is_awaited, self._is_awaited = self._is_awaited, False
        self._is_answered = True
        hits = self._pending.hits(self._deadline) if self._pending is not None and is_awaited else None
        self._cosines = dict(hits or ())
        return list(self._cosines)

    def judge(self, candidates: Sequence[Judgement]) -> Sequence[Judgement]:
        """Return what words and vectors say of each candidate; without an answer what the words say."""
        if not self._cosines:
            return candidates
        from kizami_hybrid.relevance import expects_a_memory

        is_expected = expects_a_memory(self._text)
        return judge(candidates, self._cosines, self._config.fusion, is_expected=is_expected)

    def close(self) -> None:
        """Let go of the process."""
        if self._pending is not None:
            self._pending.close()


def open_vectors(
    config_path: str,
    config: Config,
    env: Mapping[str, str],
    text: str,
    *,
    now: float,
    is_hook: bool,
    include_agents: bool = False,
) -> ResidentVectors:
    """Return the vectors' side of one query; nothing is asked yet. See ``ResidentVectors``."""
    settings, _ = load_settings(config_path, env)
    return ResidentVectors(
        settings, env, text, config=config, now=now, is_hook=is_hook, include_agents=include_agents
    )


def judge(
    candidates: Sequence[Judgement],
    cosines: Mapping[int, float],
    fusion: Fusion,
    *,
    is_expected: bool = False,
) -> Sequence[Judgement]:
    """Return what words and vectors say of each candidate, given what the words say.

    Args:
        candidates: those of one query.
        cosines: of the chunks nearest to it, nearest first; without any the words decide.
        fusion: how the two orders become one.
        is_expected: whether the query expects a memory.
    """
    if not cosines:
        return candidates
    # Only now: a prompt that gets no answer does not pay for them.
    from kizami_hybrid.fusion import fuse_ranks, fuse_scores
    from kizami_hybrid.relevance import fused_relevance, leads

    ahead = leads(cosines)
    of_candidates = [cosines.get(candidate.chunk_id) for candidate in candidates]
    fuse = fuse_scores if fusion == "score" else fuse_ranks
    scores = fuse([candidate.rank_score for candidate in candidates], of_candidates)
    return [
        candidate.replace(
            relevance=fused_relevance(
                candidate.relevance,
                ahead.get(candidate.chunk_id, 0.0),
                is_expected=is_expected,
            ),
            rank_score=score,
            cosine=cosine,
        )
        for candidate, cosine, score in zip(candidates, of_candidates, scores, strict=True)
    ]


def wake(config_path: str, config: Config, env: Mapping[str, str], now: float) -> str:
    """Tell the resident process that chunks were saved, starting it if need be; return at once.

    Returns:
        "" or a problem, as ``ResidentVectors.problem``.
    """
    settings, _ = load_settings(config_path, env)
    return wake_process(settings, env, config.database_path, now)
