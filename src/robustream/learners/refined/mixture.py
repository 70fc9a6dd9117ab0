"""Good rows, bad rows and a flat rest as a mixture: weights without the bias of a cut where they overlap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robustream.learners.refined.solver import TINY, Solver, residuals, settled
from robustream.spaces import Array

__all__ = ["Mixture", "fit_mixture"]


class Mixture(NamedTuple):
    """The model (beta, sigma), a second linear model for bad rows, a flat rest within reach; shares sum to 1."""

    beta: Array
    sigma: float
    bad_beta: Array
    bad_offset: float
    bad_sigma: float
    share: Array
    reach: float

    def posterior(self, D: Array, Y: Array, r: Array) -> tuple[Array, float]:
        """Probability (3 x n) that a row with residual r belongs to each part, 0 beyond reach; log likelihood."""
        bad_r = residuals(D, Y, self.bad_beta)[:, 0] - self.bad_offset
        density = np.stack(
            [
                self.share[0] / self.sigma * np.exp(-0.5 * (r / self.sigma) ** 2),
                self.share[1] / self.bad_sigma * np.exp(-0.5 * (bad_r / self.bad_sigma) ** 2),
                np.full(len(r), self.share[2] * np.sqrt(2 * np.pi) / (2 * self.reach)),
            ]
        )
        near = np.abs(r) < self.reach
        total = density.sum(axis=0)
        return np.where(near, density / total, 0.0), float(np.log(total[near]).sum())


def fit_mixture(
    D: Array,
    Y: Array,
    beta: Array,
    sigma: float,
    solver: Solver,
    second_line: bool,
    inner: float = 1.0,
    precision: float = 0.01,
    n_steps: int = 30,
) -> tuple[Mixture, float]:
    """Expectation-maximisation of the mixture, and its log likelihood less half of Schwarz's penalty.

    Flips, shifts, shuffled x and wide noise are all second linear models; what is none of them is flat. The
    posterior of the first part is a weight without the bias of a cut where the parts overlap. Without a
    second line the bad rows share the first one's slopes: right for tails and few bad rows.
    """
    k = D.shape[1]
    r = residuals(D, Y, beta)[:, 0]
    reach, floor = 20.0 * sigma, 0.3 * sigma
    near = np.abs(r) < reach
    good = (np.abs(r) < min(2.5 * sigma, np.quantile(np.abs(r), inner))).astype(np.float64)
    other = near - good
    share = np.array([good.sum(), 0.9 * other.sum(), 0.1 * other.sum()]) + 1.0
    for _ in range(n_steps):
        if second_line:
            bad_beta, bad_offset, freedom = solver(D, Y, other), 0.0, k
        else:
            bad_beta, bad_offset, freedom = beta, (other @ r) / max(other.sum(), 1e-12), 1
        bad_r = residuals(D, Y, bad_beta)[:, 0] - bad_offset
        bad_sigma = max(np.sqrt((other @ bad_r**2) / max(other.sum() - freedom, 1.0)), 0.2 * sigma)
        model = Mixture(beta, sigma, bad_beta, bad_offset, bad_sigma, share / share.sum(), reach)
        (good, other, flat), likelihood = model.posterior(D, Y, r)
        if good.sum() <= k:  # the model has lost its rows: stay with the last one
            break
        share = np.array([good.sum(), other.sum(), flat.sum()]) + 0.5
        previous, beta = beta, solver(D, Y, good)
        r = residuals(D, Y, beta)[:, 0]
        # Stuck sensors and rounded targets leave a few rows with the same residual: no model of their own.
        sigma = max(np.sqrt((good @ r**2) / max(good.sum() - k, good.sum() / 4)), floor) + TINY
        if settled(D, beta, previous, sigma, precision):
            break
    parameters = 3 + (k if second_line else 1)
    return (
        model._replace(beta=beta, sigma=sigma, share=share / share.sum()),
        likelihood - 0.5 * parameters * np.log(len(D)),
    )
