"""Evaluation of recommenders: walk-forward back-tests, the tournament of ``auto``, suitability."""

from kubestow.policies.sizing.judging.arena import (
    BacktestScores,
    backtest,
    backtest_all,
    origins,
)
from kubestow.policies.sizing.judging.suitability import (
    Screen,
    ScreenParameters,
    screen_container,
)
from kubestow.policies.sizing.judging.tournament import (
    AUTO,
    Tournament,
    TournamentParameters,
    arena_window,
)

__all__ = [
    "AUTO",
    "BacktestScores",
    "Screen",
    "ScreenParameters",
    "Tournament",
    "TournamentParameters",
    "arena_window",
    "backtest",
    "backtest_all",
    "origins",
    "screen_container",
]
