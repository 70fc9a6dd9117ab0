"""Copies."""
import numpy as np
from numba import njit

MANY = 10.0

@njit(cache=True)
def _keys(bits):
    n, p = bits.shape
    out = np.empty(n, np.uint64)
    for i in range(n):
        h = np.uint64(0x9E3779B97F4A7C15)
        for j in range(p):
            h ^= bits[i, j]
            h *= np.uint64(0xBF58476D1CE4E5B9)
            h ^= h >> np.uint64(29)
        h *= np.uint64(0x94D049BB133111EB)
        out[i] = h ^ (h >> np.uint64(32))
    return out

def row_keys(x):
    return _keys((x + 0.0).view(np.uint64))

def copied(x, keys):
    """Of a sample sorted by keys: the first of equal rows, without those copied all over; keys of the latter."""
    n = len(x)
    first = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    if len(first) == n:
        return np.arange(n), keys[:0]
    count = np.diff(np.r_[first, n])
    s = np.sort(x[first], axis=0)
    distinct = np.mean(s[1:] != s[:-1], axis=0)
    j = int(np.argmax(distinct))
    if distinct[j] <= 0.5:
        return np.arange(n), keys[:0]
    many = count > MANY * n / len(first)
    return first[~many], keys[first[many]]

def spread_lattice(x, rng):
    x = x.copy()
    for j in range(x.shape[1]):
        v, at, c = np.unique(x[:, j], return_inverse=True, return_counts=True)
        if np.sum(c > 1) < 2 or c[c > 1].sum() < 0.4 * len(x):
            continue
        g = np.diff(v)
        left, right = np.r_[np.inf, g], np.r_[g, np.inf]
        near = np.minimum(left, right)
        neighbour = np.where(left <= right, np.r_[0, near[:-1]], np.r_[near[1:], 0])
        reach = np.where(c > 1, np.minimum(near, 3 * neighbour), 0)
        x[:, j] += reach[at] * rng.triangular(-1, 0, 1, len(x))
    return x
