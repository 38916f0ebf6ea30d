"""The search modes (``search.mode`` in the configuration), and what runs them.

Core mode is `kizami_core` itself. The module `backend` of another mode's package is imported when it is used
and offers

- ``open_vectors(config_path, config, env, text, *, now, is_hook, include_agents)``: core's ``VectorSource``
  for one query, with ``problem`` (one sentence, "" while all is well), ``can_answer`` and ``close``;
- ``wake(config_path, config, env, now)``: tells of saved chunks, and returns a problem as above.

Whatever fails there costs the person no prompt: the search goes on in core mode.
"""

from __future__ import annotations

from kizami_core.errors import ConfigError
from kizami_core.messages import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType
    from typing import Protocol, TypeVar

    from kizami_core.config import Config
    from kizami_core.retrieval.vector_source import Judgement, VectorSource

    Value = TypeVar("Value")

    class Source(VectorSource, Protocol):
        """What a mode's module gives for one query."""

        @property
        def problem(self) -> str:
            """Why there was no answer, "" while all is well."""

        @property
        def can_answer(self) -> bool:
            """Whether an answer may come to what was asked."""

        def close(self) -> None:
            """Let go of what answers."""


# Mode → the package that runs it, to be imported and to be installed.
MODES = {"core": ("kizami_core", "kizami-core"), "hybrid": ("kizami_hybrid", "kizami-hybrid")}


def mode_problem(mode: str) -> str:
    """Say why a mode can't run, "" when it can. The search itself then goes on in core mode."""
    if mode not in MODES:
        return Message(
            'search.mode must be "core" or "hybrid", not "{mode}"; core mode is used. '
            "Correct it: kizami config set search.mode core",
            mode=mode,
        )
    name, distribution = MODES[mode]
    try:
        if mode != "core":
            _import(f"{name}.backend")
    except ModuleNotFoundError as error:
        if error.name != name:
            return _broken(mode, error)
        return Message(
            'search.mode is "{mode}", but {distribution} is not installed; core mode is used. '
            "Install it beside kizami-cli: pip install {distribution}",
            mode=mode,
            distribution=distribution,
        )
    except Exception as error:  # noqa: BLE001 - of another package, perhaps half installed
        return _broken(mode, error)
    return ""


def installation(mode: str) -> ModuleType:
    """Return the module that sets a mode up.

    It offers ``install(config_path, env, *, model_dir, progress)``, ``chunks_to_embed(config_path, database,
    env)`` and ``embed_all(context)``.

    Raises:
        ConfigError: the mode's package is not installed.
    """
    name, distribution = MODES[mode]
    try:
        return _import(f"{name}.installation")
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ConfigError(
            Message(
                "{distribution} is not installed, so nothing was set up. Install it beside kizami-cli: "
                "pip install {distribution}. Without --{mode} `kizami setup` sets up core mode, which needs "
                "no model and no download.",
                distribution=distribution,
                mode=mode,
            )
        ) from error


class Vectors:
    """A mode's ``VectorSource`` that never fails: whatever it raises is its ``problem``, and words decide."""

    def __init__(self, mode: str, open_source: Callable[[], Source]) -> None:
        self._mode = mode
        self._problem = ""
        self._source = self._try(open_source, None)

    @property
    def problem(self) -> str:
        """Why words alone decided, in one sentence that ends with the remedy; "" while all is well."""
        return self._problem or (self._source.problem if self._source is not None else "")

    @property
    def can_answer(self) -> bool:
        """Whether an answer may come to what was asked; a prompt then does without what it would be for."""
        source = self._source
        return source is not None and self._try(lambda: source.can_answer, False)  # noqa: FBT003 - a default

    @property
    def odds(self) -> float:
        """The most that vectors raise a relevance by; see ``VectorSource``."""
        source = self._source
        return 1.0 if source is None else self._try(lambda: source.odds, 1.0)

    def ask(self, project_path: str | None) -> None:
        """Send the query; see ``VectorSource``."""
        source = self._source
        if source is not None:
            self._try(lambda: source.ask(project_path), None)

    def nearest(self) -> Sequence[int]:
        """Return the nearest chunks; see ``VectorSource``."""
        source = self._source
        return () if source is None else self._try(source.nearest, ())

    def judge(self, candidates: Sequence[Judgement]) -> Sequence[Judgement]:
        """Return the judgements; see ``VectorSource``."""
        source = self._source
        return candidates if source is None else self._try(lambda: source.judge(candidates), candidates)

    def close(self) -> None:
        """Let go of what answers."""
        source = self._source
        if source is not None:
            self._try(source.close, None)

    def _try(self, step: Callable[[], Value], otherwise: Value) -> Value:
        try:
            return step()
        except Exception as error:  # noqa: BLE001 - of another package; the prompt must go on
            self._problem = _broken(self._mode, error)
            self._source = None
            return otherwise


def open_vectors(
    config_path: str,
    config: Config,
    env: Mapping[str, str],
    text: str,
    *,
    now: float,
    is_hook: bool,
    include_agents: bool = False,
) -> Vectors | None:
    """Return the vectors' side of a query, to be closed; None in core mode and where the mode can't run.

    Args:
        config_path: the configuration file.
        config: what it says.
        env: the environment.
        text: the prompt, or the words of a search.
        now: epoch seconds.
        is_hook: wait for no more than a prompt may wait.
        include_agents: the sessions of sub-agents too.
    """
    mode = config.search_mode
    if mode == "core" or mode_problem(mode):
        return None
    backend = _import(f"{MODES[mode][0]}.backend")
    return Vectors(
        mode,
        lambda: backend.open_vectors(
            config_path, config, env, text, now=now, is_hook=is_hook, include_agents=include_agents
        ),
    )


def wake(config_path: str, config: Config, env: Mapping[str, str], now: float) -> str:
    """Tell what makes vectors that chunks were saved; return a problem, "" when there is none."""
    mode = config.search_mode
    if mode == "core" or mode_problem(mode):
        return ""
    try:
        problem: str = _import(f"{MODES[mode][0]}.backend").wake(config_path, config, env, now)
    except Exception as error:  # noqa: BLE001 - of another package; the turns are saved
        return _broken(mode, error)
    return problem


def _import(name: str) -> ModuleType:
    # Not importlib, which would cost the hooks a module more.
    return __import__(name, fromlist=("_",))


def _broken(mode: str, error: Exception) -> str:
    return Message(
        'search.mode is "{mode}", which fails ({reason}); core mode is used. '
        "Bring all packages to one version: pip install --upgrade kizami-cli kizami-hybrid",
        mode=mode,
        reason=f"{type(error).__name__}: {error}",
    )
