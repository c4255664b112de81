"""Which of several bounds gets the time: the one that falls.

Each part has a first turn. After that the next turn goes to the part whose bound is expected to be the smallest at the
end of the time, if it goes on falling as it did in its last turn. If no part is expected to lower the bound that is
known, the one that has had the least time is given a turn, and longer turns from then on: a round of pricing, or a
search over larger sets, may take a while before it shows anything. A part that itself expects nothing has turns only
when all others are over.

A turn ends after a step of the part, so that nothing that was begun is lost. When all parts are over and the gap is
open, those that can try harder go on, with longer turns; each a few times in vain. While all bounds stand still, what
runs beside them may have the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from dagopt.deadline import Deadline

__all__ = ["Part", "take_turns"]

LONGEST = 600.0  # seconds; a longer time limit, or none, counts as this much
TURN_SHARE, LEAST_TURN = 0.05, 2.0  # a turn is this share of the time left at first, but at least so many seconds
LONGER = 2.0  # the factor by which turns grow that show nothing
LEAST_FALL = 0.02  # of the gap: a smaller expected fall is none
STILL = 4.0  # turns have grown by this factor where bounds stand still: two in a row showed nothing


class Part(Protocol):
    """Something that lowers a bound."""

    @property
    def bound(self) -> float:
        """A bound on the score of every DAG; infinity before there is one."""

    @property
    def over(self) -> bool:
        """Whether nothing is left to do."""

    @property
    def finished(self) -> bool:
        """Whether the families left are listed, so that all parts are done."""

    def work(self, clock: Deadline) -> None:
        """Go on until the clock stops, or somewhat longer if a step cannot be divided."""

    @property
    def hopeless(self) -> bool:
        """Whether it knows that the time left is far too short."""

    def try_harder(self) -> bool:
        """Go on, though it was over, with several times the effort; say whether it does: a few times in vain."""

    def outlook(self, seconds: float) -> float | None:
        """Return the bound to expect after so many seconds, infinity for none; None to judge by how fast it falls."""


class _Player:
    """A part and how its turns went."""

    def __init__(self, part: Part, turn: float) -> None:
        self.part = part
        self.seconds = 0.0
        self._first = self._turn = turn
        self._speed = 0.0
        self._gave_up = False

    def outlook(self, left: float) -> float:
        """Return the bound to expect at the end of the time."""
        own = self.part.outlook(left)
        return self.part.bound - self._speed * left if own is None else own

    def play(self, deadline: Deadline) -> None:
        """Take a turn."""
        before, begin = self.part.bound, deadline.elapsed()
        clock = deadline.within(self._turn)
        self.part.work(clock)
        used = max(deadline.elapsed() - begin, 1e-3)
        fall = before - self.part.bound if np.isfinite(before) else 0.0
        self._speed = fall / used
        self.seconds += used
        if fall <= 0.0:
            self._turn *= LONGER
            self._gave_up = clock.reason is None

    def try_harder(self) -> bool:
        """Let the part go on, if that may help; say whether it does."""
        goes_on = self.part.try_harder()
        self._gave_up = self._gave_up and not goes_on
        return goes_on

    def stands_still(self, wanted: float, left: float) -> bool:
        """Say whether no bound as wanted is to be expected, and nothing soon: its last turns showed nothing."""
        return self.outlook(left) >= wanted and (self.outlook(left) == np.inf or self._turn >= STILL * self._first)

    @property
    def over(self) -> bool:
        """Whether nothing more comes from it: it says so, or it ended before its time with nothing."""
        return self.part.over or self._gave_up


def take_turns(
    parts: Sequence[Part],
    score: Callable[[], float],
    tolerance: float,
    deadline: Deadline,
    rest: Callable[[bool], None] = lambda is_hopeless: None,
) -> None:
    """Let parts work in turns until the gap is closed, the deadline comes, all are over, or one leaves nothing to do.

    Parameters
    ----------
    parts : sequence of Part
        In the order of their first turns; perhaps none, for a score without such bounds.
    score : callable
        Returns that of the best DAG known; called before every turn.
    tolerance : float
        The gap is closed when the bound exceeds the score by no more than this.
    deadline : Deadline
        The clock of all.
    rest : callable
        Called when all bounds stand still, with whether all parts that are left are hopeless.
    """
    turn = max(TURN_SHARE * min(deadline.remaining(), LONGEST), LEAST_TURN)
    players = [_Player(part, turn) for part in parts]
    while parts and deadline.reason is None and not any(part.finished for part in parts):
        known, value = min(part.bound for part in parts), score()
        left = min(deadline.remaining(), LONGEST)
        open_ones = [player for player in players if not player.over]
        if known <= value + tolerance or not (open_ones := _with_tries(players, open_ones, left)):
            return
        chosen = _next(open_ones, known, value, left)
        if chosen.seconds > 0.0 and chosen.stands_still(known - LEAST_FALL * (known - value), left):
            rest(all(player.part.hopeless for player in open_ones))
            if known <= score() + tolerance:
                return
        chosen.play(deadline)


def _with_tries(players: Sequence[_Player], open_ones: list[_Player], left: float) -> list[_Player]:
    """Return who may play: if all that are not over expect nothing, also those that are over and try harder."""
    if any(player.part.outlook(left) != np.inf for player in open_ones):
        return open_ones
    return [*open_ones, *(player for player in players if player.over and player.try_harder())]


def _next(players: Sequence[_Player], known: float, score: float, left: float) -> _Player:
    """Return whose turn it is."""
    players = [player for player in players if player.part.outlook(left) != np.inf] or players
    for player in players:
        if player.seconds == 0.0:
            return player
    best = min(players, key=lambda player: player.outlook(left))
    if best.outlook(left) < known - LEAST_FALL * (known - score):
        return best
    return min(players, key=lambda player: player.seconds)
