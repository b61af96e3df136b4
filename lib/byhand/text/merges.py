"""Chapter 2: byte-pair encoding itself: merges learned from counts, and merges applied to one piece."""

import functools
import heapq
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise

LONGEST = 1 << 16  # bytes of a token: merges that double, forty of them, would ask for more memory than there is


def learn_merges(words: Counter, count: int, min_count: int, ties: str = "lowest") -> list[tuple[int, int]]:
    """The pairs to join, in order. Each step touches only the words that hold its pair.

    Of equally frequent pairs the first is that of the lowest ids, or with ties="greatest" that whose two tokens are
    the greatest as bytes, the left one first.
    """
    tokens = [bytes([i]) for i in range(256)]
    entry = _lowest if ties == "lowest" else functools.partial(_greatest, tokens)
    split, times = [list(word.encode()) for word in words], list(words.values())
    totals, holders = Counter(), defaultdict(set)  # how often a pair is there, and in which words
    for w, ids in enumerate(split):
        for pair in pairwise(ids):
            totals[pair] += times[w]
            holders[pair].add(w)
    heap = [entry(n, pair) for pair, n in totals.items()]
    heapq.heapify(heap)
    merges = []
    while heap and len(merges) < count:
        n, *_, pair = heapq.heappop(heap)
        if totals[pair] != -n:  # an old entry: the total has changed since, and was pushed again then
            continue
        if -n < min_count:
            break
        token = tokens[pair[0]] + tokens[pair[1]]
        if len(token) > LONGEST:
            continue
        changed = set()
        for w in holders.pop(pair):
            for old in pairwise(split[w]):
                totals[old] -= times[w]
                changed.add(old)
            split[w] = _join(split[w], pair, 256 + len(merges))
            for new in pairwise(split[w]):
                totals[new] += times[w]
                holders[new].add(w)
                changed.add(new)
        merges.append(pair)
        tokens.append(token)
        for p in changed:
            heapq.heappush(heap, entry(totals[p], p))
    return merges


def _lowest(n: int, pair: tuple[int, int]) -> tuple:
    """What the heap holds of a pair that is there n times; the smallest is taken first."""
    return -n, pair


def _greatest(tokens: list[bytes], n: int, pair: tuple[int, int]) -> tuple:
    """Negative bytes turn the order round; the 1 behind them puts a longer token before its own beginning."""
    return -n, [[*(-byte for byte in tokens[i]), 1] for i in pair], pair


def _join(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    """Each occurrence of the pair replaced by one id, from the left."""
    out, i = [], 0
    while i < len(ids):
        if ids[i] == pair[0] and i + 1 < len(ids) and ids[i + 1] == pair[1]:
            out.append(new)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


Joins = dict[tuple[int, int], tuple[int, int]]  # a pair → its rank, the number of its merge, and the id that it becomes


def apply_merges(ids: list[int], joins: Joins) -> list[int]:
    """The tokens of one piece: the merge that was learned first, at its leftmost place, again and again.

    A heap of the places where a merge can be done, and a list linked both ways: n log n for n ids.
    """
    ids, n = list(ids), len(ids)
    after, before = list(range(1, n + 1)), list(range(-1, n - 1))
    heap = [joins[pair][0] * n + i for i, pair in enumerate(pairwise(ids)) if pair in joins]  # by rank, then place
    heapq.heapify(heap)
    while heap:
        rank, i = divmod(heapq.heappop(heap), n)
        j = after[i]
        found = joins.get((ids[i], ids[j])) if j < n else None
        if found is None or found[0] != rank:  # an old entry: one of its two tokens has been joined since
            continue
        ids[i], ids[j] = found[1], None
        k = after[i] = after[j]
        if k < n:
            before[k] = i
            if (right := joins.get((ids[i], ids[k]))) is not None:
                heapq.heappush(heap, right[0] * n + i)
        h = before[i]
        if h >= 0 and (left := joins.get((ids[h], ids[i]))) is not None:
            heapq.heappush(heap, left[0] * n + h)
    return [i for i in ids if i is not None]


def border_stays(
    before: int, data: bytes, longest: int, token_of: dict[bytes, int], joins_alone: Callable[[int, int], bool]
) -> bool:
    """Whether a border of tokens stays where it is whatever comes behind `data`, the bytes behind it.

    The beginning of an encoding, up to any of its borders, is the encoding of that beginning; and tokens in a row are
    an encoding if each two neighbours are one (`joins_alone`). However the text goes on, the last border in what is
    known lies less than `longest` bytes before its end. If each prefix that ends there has an encoding that goes
    through this border, all continuations do. `before` is the token in front of it; `data` not shorter than `longest`.
    """
    last, sizes = {0: before}, sorted({len(token) for token in token_of})
    for end in range(1, len(data) + 1):
        for size in sizes:
            if size > end:
                break
            token = token_of.get(data[end - size : end])
            if token is not None and end - size in last and joins_alone(last[end - size], token):
                last[end] = token
                break
    return all(end in last for end in range(len(data) - longest + 1, len(data) + 1))
