import numpy as np
from robustream.majority.evidence import valleys
EVIDENCE = 2.5

def cell_limits(U):
    """Limits of |U| beyond which cells of a column are cut off; None unless they come one by one, over all rows."""
    far = np.flatnonzero(np.abs(U).max(axis=0) > 4)
    limit = np.full(U.shape[1], np.inf)
    if len(far) < 2:
        return None
    found = valleys(np.abs(U[:, far]).T, len(far))
    limit[far] = np.where(found[:, 0] > EVIDENCE, found[:, 2], np.inf)
    bad = np.abs(U) > limit
    limit[bad.mean(axis=0) > 0.25] = np.inf
    bad = np.abs(U) > limit
    share = bad.mean(axis=0)
    dispersion = np.var(bad.sum(axis=1)) / max(np.sum(share * (1 - share)), 1e-12)
    alone = 1 - 4 * np.sqrt(2 / len(U)) < dispersion < 2
    return limit if np.sum(share > 0) > 1 and alone and np.mean(bad.any(axis=1)) > 0.33 else None

def fill(Z, bad, sweeps=5):
    """Bad cells at their conditional means given the others, by Gauss and Seidel."""
    Z = np.where(bad, 0, Z)
    known = (~bad).astype(float)
    lam, E = np.linalg.eigh(Z.T @ Z / np.maximum(known.T @ known, 1))
    P = (E / np.maximum(lam, 0.01 * lam.mean())) @ E.T
    rows = [np.flatnonzero(b) for b in bad.T]
    for _ in range(sweeps):
        for j, r in enumerate(rows):
            if len(r):
                Z[r, j] -= Z[r] @ P[:, j] / P[j, j]
    return Z
