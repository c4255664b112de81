"""The next level of a listing of parent sets: the sets none of whose subsets with one fewer member is given up.

What a member Y adds to a superset of J is at most N H(Y | J - Y) less N times the entropy of Y given all others, and Y
costs a superset of cost c the share 1 - 1 / a_Y of c. So from some cost on all supersets of J need not all members of
J. The least of it over the members is the *worth* of J: no useful superset costs as much.

A subset was given up if it is not open although it was made: the set without its last member was open, and reached it.
Sets are the bits of one integer each; bit b is the b-th candidate of the node. The open sets are found by a hash table.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.kernels.store import njit

__all__ = ["OpenSets", "Penalties", "extended", "worth_of"]

ONE = np.int64(1)
HASH = np.int64(-7046029254386353131)


class OpenSets(NamedTuple):
    """Sets of one size, sorted: the best score of each and its subsets, a bound on its supersets, and its joint.

    A set is extended by candidates that come after its members, and below ``reach``. No useful superset costs as much
    as its ``worth``.
    """

    keys: Ints
    best: Floats
    ceiling: Floats
    joints: Floats
    reach: Ints
    worth: Floats


class Penalties(NamedTuple):
    """What a set costs, and what its members must be worth.

    A set J costs ``unit`` times the product of its arities, and ``edge`` per member; ``most`` minus that bounds its
    score and those of its supersets. ``spare[b]`` is N times the entropy of candidate b given all other columns, minus
    infinity if the score has no rule by entropies.
    """

    unit: float
    edge: float
    most: float
    arity: Floats
    spare: Floats


@njit(cache=True, nogil=True)
def _table(keys):
    """Return a hash table of the places of the keys, with open addressing; -1 for a free place."""
    size = 16
    while size < 2 * keys.shape[0]:
        size *= 2
    table = np.full(size, -1, dtype=np.int32)
    for k in range(keys.shape[0]):
        at = ((keys[k] * HASH) >> np.int64(20)) & (size - 1)
        while table[at] >= 0:
            at = (at + 1) & (size - 1)
        table[at] = k
    return table


@njit(cache=True, nogil=True)
def _place(table, keys, key):
    """Return the place of a key, -1 if it is not there."""
    at = ((key * HASH) >> np.int64(20)) & (table.shape[0] - 1)
    while table[at] >= 0:
        if keys[table[at]] == key:
            return table[at]
        at = (at + 1) & (table.shape[0] - 1)
    return np.int32(-1)


@njit(cache=True, nogil=True)
def worth_of(keys, joints, before, penalties, slack, worth):
    """Lower ``worth``, what is known from subsets, to what the joints of some sets say.

    ``before`` has their subsets without one member; a member must add more than it costs by less than ``slack``.
    """
    edge, arity, spare = penalties.edge, penalties.arity, penalties.spare
    table = _table(before.keys)
    for k in range(keys.shape[0]):
        for b in range(arity.shape[0]):
            if (keys[k] >> b) & 1 and arity[b] > 1.0:
                at = _place(table, before.keys, keys[k] ^ (ONE << b))
                if at >= 0:
                    gain = before.joints[at] - joints[k] - spare[b] - edge + slack
                    if gain < worth[k] * (1.0 - 1.0 / arity[b]):  # false if a joint is not known
                        worth[k] = gain / (1.0 - 1.0 / arity[b])


@njit(cache=True, nogil=True)
def _allowed(open_sets, before):
    """Return for each open set the later candidates, as bits, with which no subset is one that was given up.

    The subsets are those with the candidate and without one member. Each is a set of ``before`` and that candidate.
    """
    keys, reach = open_sets.keys, open_sets.reach
    earlier = _table(before.keys)
    grown = np.zeros(before.keys.shape[0], dtype=np.int64)  # the candidates with which a set is open
    for k in range(keys.shape[0]):
        last = 0
        while (keys[k] >> last) > 1:
            last += 1
        if keys[k] > 0:
            at = _place(earlier, before.keys, keys[k] ^ (ONE << last))
            if at >= 0:
                grown[at] |= ONE << last
    allowed = np.empty(keys.shape[0], dtype=np.int64)
    for k in range(keys.shape[0]):
        bits = (ONE << reach[k]) - 1
        b = 0
        while bits != 0 and (keys[k] >> b) > 0:
            if (keys[k] >> b) & 1:
                bits &= ~((ONE << (b + 1)) - 1)
                at = _place(earlier, before.keys, keys[k] ^ (ONE << b))
                if at >= 0:
                    bits &= grown[at] | ~((ONE << before.reach[at]) - 1)
            b += 1
        allowed[k] = bits
    return allowed


@njit(cache=True, nogil=True)
def extended(open_sets, before, penalties, fixed, slack, most_sets, out_keys, out_values):
    """Fill in the sets of the next size that can still win, sorted, and return how many there are.

    Parameters
    ----------
    open_sets : OpenSets
        The sets that grow.
    before : OpenSets
        The sets, with one fewer member, that they grew from.
    penalties : Penalties
        The candidates' arities and costs.
    fixed : tuple of float and int
        The product of the arities of the required parents, and how many there are.
    slack : float
        A set is given up if its bound is below the best score of its subsets by this much.
    most_sets : int
        Stop if there are more.
    out_keys, out_values : int array, float array of shape (3, len)
        Room for one more than the most sets: their keys, and the best score of the subsets, the bound, and the worth.

    Returns
    -------
    int
        How many there are; ``most_sets`` plus one if it was stopped.
    """
    keys, best, ceiling, _, _, worth = open_sets
    unit, edge, most, arity, _ = penalties
    table = _table(keys)
    allowed = _allowed(open_sets, before)
    places = np.empty(64, dtype=np.int64)
    found = 0
    for item in range(arity.shape[0]):
        k = 0
        while k < keys.shape[0] and keys[k] < (ONE << item):
            key = keys[k] | (ONE << item)
            k += 1
            if not (allowed[k - 1] >> item) & 1:
                continue
            # the places of the subsets without one of the members, -1 for a subset that was not made
            size = 0
            product = fixed[0]
            for b in range(item + 1):
                if (key >> b) & 1:
                    product *= arity[b]
                    places[size] = k - 1 if b == item else _place(table, keys, key ^ (ONE << b))
                    size += 1
            # what the subsets say about the set
            cost = unit * product
            inherited = -np.inf
            lowest = most - cost - edge * (size + fixed[1])
            least = np.inf
            for t in range(size):
                at = places[t]
                if at < 0:
                    continue
                inherited = max(inherited, best[at])
                lowest = min(lowest, ceiling[at])
                least = min(least, worth[at])
            if cost >= least or not lowest > inherited - slack:
                continue
            out_keys[found] = key
            out_values[0, found] = inherited
            out_values[1, found] = lowest
            out_values[2, found] = least
            found += 1
            if found > most_sets:
                return found
    return found
