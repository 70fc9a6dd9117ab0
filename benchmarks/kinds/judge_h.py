"""Judgement kinds h: tables and streams as users would have them, written from the README and the interface alone.

Each kind is one function `make(rng)` under a decorator that says the problem, whether it is honest, and a note.
Laws are fixed (constants, or loadings drawn once from a fixed seed); only the rows differ from seed to seed.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np

from interface import Kind, Sample, cov_basis, pca_truth, regression_truth

KINDS = []


def _kind(problem, honest):
    def with_note(note):
        def add(make):
            KINDS.append(Kind('h_' + make.__name__, problem, honest, make, note))
            return make
        return add
    return with_note


reg_dirty = _kind('regression', False)
reg_honest = _kind('regression', True)
pca_dirty = _kind('pca', False)
pca_honest = _kind('pca', True)


# ---- helpers -----------------------------------------------------------------------------------

def reg(X, y, bad, truth, sizes=None):
    return Sample(np.asarray(X, float), np.asarray(y, float), ~np.asarray(bad, bool), np.asarray(truth, float), None,
                  None if sizes is None else tuple(int(k) for k in sizes))


def pca(X, bad, truth, sizes=None):
    return Sample(np.asarray(X, float), None, ~np.asarray(bad, bool), truth, truth.shape[1],
                  None if sizes is None else tuple(int(k) for k in sizes))


def clean(n):
    return np.zeros(n, bool)


def pick(rng, n, share):
    """A random choice of round(share n) rows, as a mask."""
    mask = np.zeros(n, bool)
    mask[rng.choice(n, int(round(share * n)), replace=False)] = True
    return mask


def stretch(n, start, stop):
    """Rows from the fraction `start` to the fraction `stop`, as a mask."""
    place = np.arange(n) / n
    return (place >= start) & (place < stop)


def in_batches(sizes, which):
    return np.isin(np.repeat(np.arange(len(sizes)), sizes), which)


def batch_of(sizes):
    return np.repeat(np.arange(len(sizes)), sizes)


def line(X, law):
    law = np.asarray(law, float)
    return X @ law[:-1] + law[-1]


def equal_corr(rng, n, p, rho):
    return np.sqrt(rho) * rng.normal(size=(n, 1)) + np.sqrt(1 - rho) * rng.normal(size=(n, p))


def chain_corr(rng, n, p, rho):
    """Columns of which neighbours are correlated by rho."""
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho ** 2) * X[:, j]
    return X


def dummies(level, count):
    """One-hot without the first level."""
    return (level[:, None] == np.arange(1, count)).astype(float)


def fixed(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


class Factors:
    """A factor law: X = mean + scores * sizes @ directions' + noise, of which the leading subspace is known."""

    def __init__(self, seed, p, sizes, noise=1.0, mean=0.0, directions=None):
        start = fixed(seed, p, len(sizes)) if directions is None else directions
        self.V = np.linalg.qr(start)[0]
        self.sizes = np.asarray(sizes, float)
        self.noise = noise * np.ones(p)
        self.mean = mean * np.ones(p)
        self.p = p
        self.cov = (self.V * self.sizes ** 2) @ self.V.T + np.diag(self.noise ** 2)
        self.truth = cov_basis(self.cov, len(sizes))

    def rows(self, rng, n, scores=None, noise=None):
        scores = rng.normal(size=(n, len(self.sizes))) if scores is None else scores
        noise = rng.normal(size=(n, self.p)) if noise is None else noise
        return self.mean + (scores * self.sizes) @ self.V.T + noise * self.noise


def bumps(p, places, widths):
    """Smooth bands over p channels, one per column: the parts of a spectrum."""
    t = np.linspace(0, 1, p)[:, None]
    return np.exp(-0.5 * ((t - np.asarray(places)) / np.asarray(widths)) ** 2)


# =================================================================================================
# Regression, dirty: tables
# =================================================================================================

@reg_dirty('gas use of boilers: outside temperature of 15% of the rows in Fahrenheit')
def boiler_fahrenheit(rng):
    n, law = 2400, [-2.0, 0.8, 5.0, 120.0]
    X = np.column_stack([rng.normal(8, 6, n), rng.gamma(3, 1.5, n), rng.integers(1, 6, n)])
    y = line(X, law) + rng.normal(0, 3, n)
    bad = pick(rng, n, 0.15)
    X[bad, 0] = 1.8 * X[bad, 0] + 32
    return reg(X, y, bad, law)


@reg_dirty('freight invoices, 6% of the amounts in cents')
def invoice_cents(rng):
    n, law = 5000, [1.4, 0.22, 18.0, 35.0]
    X = np.column_stack([rng.lognormal(3, 0.7, n), rng.gamma(2, 120, n), rng.random(n) < 0.3])
    y = line(X, law) + rng.normal(0, 6, n)
    bad = pick(rng, n, 0.06)
    y[bad] *= 100
    return reg(X, np.round(y, 2), bad, law)


@reg_dirty('flats: a fifth of the areas in square feet, prices in thousands')
def flat_square_feet(rng):
    n, law = 900, [3.1, -0.9, 12.0, 4.0, 40.0]
    X = np.column_stack([rng.lognormal(4.3, 0.35, n), rng.uniform(0, 80, n), rng.integers(1, 6, n), rng.integers(0, 12, n)])
    y = line(X, law) + rng.normal(0, 25, n)
    bad = pick(rng, n, 0.2)
    X[bad, 0] *= 10.764
    return reg(X, y, bad, law)


@reg_dirty('ledger exports: sign of the booked amount turned round in 30% of the rows')
def ledger_sign(rng):
    n, law = 3000, [12.0, 7.0, -5.0, 200.0]
    X = equal_corr(rng, n, 3, 0.4)
    y = line(X, law) + rng.normal(0, 8, n)
    bad = pick(rng, n, 0.3)
    y[bad] = -y[bad]
    return reg(X, y, bad, law)


@reg_dirty('flow meter that reads its 4 mA floor for a quarter of the time, in one stretch')
def flow_meter_floor(rng):
    n, law = 4000, [0.6, 2.5, -1.2, 50.0]
    t = np.arange(n)
    X = np.column_stack([20 + 8 * np.sin(t / 200) + rng.normal(0, 2, n), rng.uniform(2, 9, n), rng.normal(5, 1, n)])
    y = line(X, law) + rng.normal(0, 1.5, n)
    bad = stretch(n, 0.55, 0.8)
    y[bad] = 4.0
    return reg(X, y, bad, law)


@reg_dirty('weather table: target -999 where the value was missing, 5%')
def weather_minus_999(rng):
    n, law = 7000, [0.4, -0.3, 1.1, 0.0, 0.2, 15.0]
    X = chain_corr(rng, n, 5, 0.6) * [5, 10, 2, 1, 4] + [15, 60, 4, 1013, 0]
    y = line(X, law) + rng.normal(0, 2, n)
    bad = pick(rng, n, 0.05)
    y[bad] = -999
    return reg(X, y, bad, law)


@reg_dirty('household survey: 9999 for "no answer" in one of two income columns, 12% of the rows')
def survey_income_9999(rng):
    n, law = 1500, [0.30, 0.18, 25.0, 6.0, 110.0]
    X = np.column_stack([rng.gamma(6, 60, n), rng.gamma(4, 50, n), rng.integers(1, 7, n), rng.integers(18, 90, n)]).astype(float)
    y = line(X, law) + rng.normal(0, 30, n)
    bad = pick(rng, n, 0.12)
    X[bad, rng.integers(0, 2, bad.sum())] = 9999
    return reg(X, y, bad, law)


@reg_dirty('clinic: height in cm and weight in kg swapped in 18% of the rows')
def clinic_swapped(rng):
    n, law = 800, [-0.35, 0.62, 0.12, 40.0]
    height = rng.normal(170, 9, n)
    weight = 70 + 0.8 * (height - 170) + rng.gamma(4, 5, n) - 20
    X = np.column_stack([height, weight, rng.integers(20, 85, n)])
    y = line(X, law) + rng.normal(0, 2.5, n)
    bad = pick(rng, n, 0.18)
    X[bad, 0], X[bad, 1] = X[bad, 1].copy(), X[bad, 0].copy()
    return reg(X, y, bad, law)


@reg_dirty('join shifted by one row over 30% of a precise calibration table')
def calibration_shifted_join(rng):
    n, law = 2000, [6.0, -4.0, 9.0, 2.0, 100.0]
    X = rng.normal(size=(n, 4))
    y = line(X, law) + rng.normal(0, 0.3, n)
    bad = stretch(n, 0.4, 0.7)
    y[bad] = np.roll(y[bad], 1)
    return reg(X, y, bad, law)


@reg_dirty('eight broken orders copied 50 times each by a failed import')
def orders_copied(rng):
    law = [4.0, 1.5, -3.0, 60.0]
    X = np.column_stack([rng.poisson(12, 2000), rng.gamma(2, 6, 2000), rng.random(2000) * 10])
    y = line(X, law) + rng.normal(0, 4, 2000)
    B = np.column_stack([rng.poisson(40, 8), rng.gamma(2, 30, 8), rng.random(8) * 10])
    yb = rng.uniform(-400, -150, 8)
    X, y = np.vstack([X, np.repeat(B, 50, 0)]), np.append(y, np.repeat(yb, 50))
    return reg(X, y, np.arange(len(y)) >= 2000, law)


@reg_dirty('allometry: 35% of the rows are another species with a line of its own')
def allometry_second_species(rng):
    n, law = 700, [2.2, 0.5, 3.0]
    X = np.column_stack([rng.normal(4, 0.8, n), rng.normal(0, 1, n)])
    y = line(X, law) + rng.normal(0, 0.35, n)
    bad = pick(rng, n, 0.35)
    y[bad] = line(X[bad], [-0.6, 1.2, 21.0]) + rng.normal(0, 0.35, bad.sum())
    return reg(X, y, bad, law)


@reg_dirty('photodiode that jumps to its full scale in 22% of the rows')
def photodiode_full_scale(rng):
    n, law = 10000, [310.0, 95.0, 420.0]
    X = np.column_stack([rng.random(n), rng.exponential(1, n)])
    y = np.round(line(X, law) + rng.normal(0, 20, n))
    bad = pick(rng, n, 0.22)
    y[bad] = 4095
    return reg(X, y, bad, law)


@reg_dirty('40% of the readings with 60 times the noise')
def loose_contact_wide_noise(rng):
    n, law = 1600, [1.0, 1.0, -1.0, 0.5, 0.0, 10.0]
    X = rng.normal(size=(n, 5))
    bad = pick(rng, n, 0.4)
    y = line(X, law) + rng.normal(0, np.where(bad, 60, 1), n)
    return reg(X, y, bad, law)


@reg_dirty('a far tight cluster of 20% that pulls the line')
def robot_far_cluster(rng):
    n, p = 2500, 8
    law = np.append(np.linspace(-2, 2, p), 1.0)
    X = chain_corr(rng, n, p, 0.5)
    y = line(X, law) + rng.normal(0, 1, n)
    bad = pick(rng, n, 0.2)
    X[bad] = np.linspace(12, 5, p) + 0.3 * rng.normal(size=(bad.sum(), p))
    y[bad] = 60 + rng.normal(0, 1, bad.sum())
    return reg(X, y, bad, law)


@reg_dirty('a third of the rows made up: target computed from an old formula, exactly')
def old_formula_plane(rng):
    n, law = 3000, [1.0, 3.0, -2.0, 0.7, 20.0]
    X = rng.gamma(3, 2, size=(n, 4))
    y = line(X, law) + rng.normal(0, 1.2, n)
    bad = pick(rng, n, 0.33)
    y[bad] = line(X[bad], [4.0, -1.0, 5.0, 2.0, -5.0])
    return reg(X, y, bad, law)


@reg_dirty('building energy: units, sign errors, sentinels and a stuck meter at once, 32% in all')
def building_four_dirts(rng):
    n, law = 6000, [3.0, -1.5, 0.9, 12.0, 150.0]
    X = np.column_stack([rng.normal(20, 5, n), rng.normal(12, 8, n), rng.gamma(4, 8, n), rng.random(n) < 0.5])
    y = line(X, law) + rng.normal(0, 5, n)
    dirt = rng.permutation(np.repeat([0, 1, 2, 3, 4], [4080, 600, 480, 360, 480]))
    y[dirt == 1] *= 3.6
    y[dirt == 2] *= -1
    y[dirt == 3] = -9999
    y[dirt == 4] = 37.5
    return reg(X, y, dirt > 0, law)


@reg_dirty('bad cells: 2% of the cells of 15 columns thrown far off, so that 26% of the rows are hit')
def lab_bad_cells(rng):
    n, p = 3000, 15
    law = np.append(np.where(np.arange(p) % 2, 1.0, -1.5), 30.0)
    X = equal_corr(rng, n, p, 0.3)
    y = line(X, law) + rng.normal(0, 1, n)
    cell = rng.random((n, p)) < 0.02
    X[cell] += rng.choice([-1, 1], cell.sum()) * rng.uniform(10, 40, cell.sum())
    return reg(X, y, cell.any(1), law)


@reg_dirty('trait on 110 marker counts 0/1/2, a tenth of the plates with another trait scale')
def markers_trait_scale(rng):
    n, p = 1400, 110
    law = np.append(0.6 * np.sin(np.arange(p)), 50.0)
    X = rng.binomial(2, 0.1 + 0.4 * np.abs(np.cos(np.arange(p))), size=(n, p))
    y = line(X, law) + rng.normal(0, 1.5, n)
    bad = pick(rng, n, 0.1)
    y[bad] *= 2.54
    return reg(X, y, bad, law)


@reg_dirty('sixty patients, nine of them with the dose in micrograms')
def sixty_patients_dose(rng):
    n, law = 60, [2.4, -0.1, 8.0]
    X = np.column_stack([rng.uniform(1, 6, n), rng.normal(55, 10, n)])
    y = line(X, law) + rng.normal(0, 0.8, n)
    bad = pick(rng, n, 0.15)
    X[bad, 0] *= 1000
    return reg(X, y, bad, law)


@reg_dirty('columns of scales 1e-6 to 1e6, 25% of the targets a thousandfold too small')
def physics_scales_units(rng):
    n, scale = 1200, np.array([1e-6, 1e-3, 1.0, 1e3, 1e6])
    law = np.append(np.array([3.0, -2.0, 4.0, 1.0, -3.0]) / scale, 40.0)
    X = rng.normal(size=(n, 5)) * scale
    y = line(X, law) + rng.normal(0, 1, n)
    bad = pick(rng, n, 0.25)
    y[bad] /= 1000
    return reg(X, y, bad, law)


@reg_dirty('web shop: a quarter of the sessions are bots with many clicks and no sale')
def shop_bots(rng):
    n, law = 8000, [1.1, 0.6, 2.0, 5.0]
    X = np.column_stack([rng.poisson(9, n), rng.poisson(4, n), rng.poisson(2, n)]).astype(float)
    y = line(X, law) + rng.normal(0, 2.5, n)
    bad = pick(rng, n, 0.25)
    X[bad] = rng.poisson([70, 40, 9], size=(bad.sum(), 3))
    y[bad] = 0
    return reg(X, y, bad, law)


@reg_dirty('retail prices by ten stores (one-hot), 20% in another currency')
def stores_other_currency(rng):
    n, k = 4000, 10
    law = np.append(np.append(np.linspace(-6, 6, k - 1), [2.2, 1.3]), 30.0)
    X = np.column_stack([dummies(rng.integers(0, k, n), k), rng.gamma(3, 4, n), rng.normal(10, 3, n)])
    y = line(X, law) + rng.normal(0, 2, n)
    bad = pick(rng, n, 0.2)
    y[bad] *= 7.45
    return reg(X, y, bad, law)


@reg_dirty('noise that grows with the load, 20% of the rows above the line by many of their own spreads')
def fan_with_overbilling(rng):
    n, law = 3500, [5.0, 2.0, 10.0]
    X = np.column_stack([rng.uniform(1, 10, n), rng.normal(0, 2, n)])
    spread = 0.5 * X[:, 0]
    y = line(X, law) + spread * rng.normal(size=n)
    bad = pick(rng, n, 0.2)
    y[bad] += spread[bad] * rng.uniform(18, 30, bad.sum())
    return reg(X, y, bad, law)


@reg_dirty('t noise with 3 degrees, and 25% of the quotes 45 spreads too low')
def quotes_t_noise(rng):
    n, law = 2200, [0.9, 0.3, -0.4, 1.2, 0.0]
    X = rng.standard_t(5, size=(n, 4))
    y = line(X, law) + rng.standard_t(3, n)
    bad = pick(rng, n, 0.25)
    y[bad] -= 45 + 5 * rng.normal(size=bad.sum())
    return reg(X, y, bad, law)


@reg_dirty('whole-number meter readings, 10% with a digit too many')
def meter_extra_digit(rng):
    n, law = 1800, [14.0, 9.0, 0.5, 220.0]
    X = np.column_stack([rng.integers(1, 8, n), rng.integers(0, 5, n), rng.integers(20, 200, n)])
    y = np.round(line(X, law) + rng.normal(0, 12, n))
    bad = pick(rng, n, 0.1)
    y[bad] = 10 * y[bad] + rng.integers(0, 10, bad.sum())
    return reg(X, y, bad, law)


@reg_dirty('log table: time stamps of 20% of the rows in milliseconds instead of seconds')
def log_milliseconds(rng):
    n = 3000
    slope = 1e-5
    law = [slope, 2.0, 50.0 - slope * 1.7e9]
    X = np.column_stack([1.7e9 + np.sort(rng.uniform(0, 5e6, n)), rng.exponential(3, n)])
    y = line(X, law) + rng.normal(0, 2, n)
    bad = pick(rng, n, 0.2)
    X[bad, 0] *= 1000
    return reg(X, y, bad, law)


@reg_dirty('long-tailed regressors and skewed noise, 1% of the rows enormous')
def contracts_one_percent(rng):
    n, law = 9000, [0.5, 1.5, 2.0, 3.0]
    X = rng.lognormal(0, 0.6, size=(n, 3))
    y = line(X, law) + rng.gamma(2, 0.5, n) - 1
    bad = pick(rng, n, 0.01)
    y[bad] = rng.uniform(5e3, 5e4, bad.sum())
    return reg(X, y, bad, law)


@reg_dirty('questionnaire of ten items 1..5, all items reversed for 28% of the people')
def items_reversed(rng):
    n, p = 2500, 10
    law = np.append(np.full(p, 1.0), 5.0)
    X = np.clip(np.round(4.0 + 0.35 * rng.normal(size=(n, 1)) + 0.7 * rng.normal(size=(n, p))), 1, 5)
    y = line(X, law) + rng.normal(0, 1.5, n)
    bad = pick(rng, n, 0.28)
    X[bad] = 6 - X[bad]
    return reg(X, y, bad, law)


@reg_dirty('one regressor, 60,000 rows, 38% on a second line')
def taxi_second_tariff(rng):
    n, law = 60000, [1.8, 3.5]
    X = rng.gamma(2, 3, size=(n, 1))
    y = line(X, law) + rng.normal(0, 0.7, n)
    bad = pick(rng, n, 0.38)
    y[bad] = line(X[bad], [5.2, 14.0]) + rng.normal(0, 0.7, bad.sum())
    return reg(X, y, bad, law)


@reg_dirty('near-infrared bands (60, strongly correlated), 12% of the references for another constituent')
def bands_other_reference(rng):
    n, p = 1500, 60
    law = np.append(np.cos(np.arange(p) / 5.0), 12.0)
    X = chain_corr(rng, n, p, 0.9)
    y = line(X, law) + rng.normal(0, 1, n)
    bad = pick(rng, n, 0.12)
    y[bad] = 60 + 4 * X[bad, :5].sum(1) + rng.normal(0, 1, bad.sum())
    return reg(X, y, bad, law)


# ---- regression, dirty: streams -----------------------------------------------------------------

@reg_dirty('stream whose first 40% of batches are a test rig: target follows one column a hundredfold')
def rig_at_start(rng):
    sizes, law = [300] * 50, [1.0, -2.0, 0.5, 4.0]
    n, bad = sum(sizes), in_batches(sizes, range(20))
    X = rng.normal(size=(n, 3))
    y = line(X, law) + rng.normal(size=n)
    y[bad] = -80 * X[bad, 1] + 10
    return reg(X, y, bad, law, sizes)


@reg_dirty('stream that ends in garbage: the last 30% of the batches of another unit and wide')
def outage_at_end(rng):
    sizes, law = [500] * 30, [0.2, 3.0, -1.0, 6.0, 25.0]
    n, bad = sum(sizes), in_batches(sizes, range(21, 30))
    X = equal_corr(rng, n, 4, 0.5)
    y = line(X, law) + rng.standard_t(4, n)
    y[bad] = 1000 * y[bad] + rng.normal(0, 5000, bad.sum())
    return reg(X, y, bad, law, sizes)


@reg_dirty('45% of the batches collude: the same wrong line, with the same noise')
def colluding_nodes(rng):
    sizes, law = [250] * 60, [2.0, -1.0, 1.0, 0.0, 3.0]
    n = sum(sizes)
    bad = in_batches(sizes, rng.choice(60, 27, replace=False))
    X = rng.normal(size=(n, 4))
    y = line(X, law) + rng.normal(size=n)
    y[bad] = line(X[bad], [-6.0, 8.0, 1.0, 5.0, 30.0]) + rng.normal(size=bad.sum())
    return reg(X, y, bad, law, sizes)


@reg_dirty('stale targets: in 30% of the batches the target of another batch was joined')
def stale_targets(rng):
    sizes, law = [400] * 40, [10.0, -6.0, 8.0, 20.0]
    n, bad = sum(sizes), in_batches(sizes, rng.choice(40, 12, replace=False))
    X = rng.normal(size=(n, 3))
    y = line(X, law) + rng.normal(0, 0.6, n)
    y[bad] = rng.permutation(y[bad])
    return reg(X, y, bad, law, sizes)


@reg_dirty('ten nodes in turn, three of them drift away once they have jumped out of calibration')
def drifting_nodes(rng):
    sizes, law = [200] * 100, [1.5, 0.7, -0.9, 2.0, 12.0]
    n, batch = sum(sizes), batch_of(sizes)
    X = chain_corr(rng, n, 4, 0.4)
    y = line(X, law) + rng.normal(0, 1, n)
    bad = np.isin(batch % 10, [2, 5, 6])
    y[bad] += (8 + 0.5 * batch[bad]) * (1 + 0.3 * X[bad, 0])
    return reg(X, y, bad, law, sizes)


@reg_dirty('18% bad rows in every batch and a fifth of the batches bad besides')
def rows_and_batches(rng):
    sizes, law = [600] * 40, [3.0, 1.0, -2.0, 0.5, 1.0, 15.0]
    n, whole = sum(sizes), in_batches(sizes, rng.choice(40, 8, replace=False))
    X = rng.normal(size=(n, 5))
    y = line(X, law) + rng.normal(0, 1, n)
    rows = ~whole & (rng.random(n) < 0.18)
    y[rows] = rng.uniform(60, 90, rows.sum())
    y[whole] = line(X[whole], [-20.0, 1.0, 9.0, 0.5, 1.0, -40.0])
    return reg(X, y, rows | whole, law, sizes)


@reg_dirty('solar sites by batch; 6 of 24 sites send Wh for kWh')
def solar_sites_units(rng):
    sizes, law = [720] * 24, [0.8, -0.05, 0.3, 4.0]
    n, batch = sum(sizes), batch_of(sizes)
    X = np.column_stack([np.clip(rng.normal(4, 2, n), 0, None), rng.normal(18, 7, n), rng.gamma(2, 1, n)])
    y = line(X, law) + rng.normal(0, 0.4, n)
    bad = np.isin(batch, [0, 3, 4, 11, 17, 22])
    y[bad] *= 1000
    return reg(X, y, bad, law, sizes)


@reg_dirty('binary files read at the wrong offset: batches of values up to 1e9, 15%')
def wrong_offset(rng):
    sizes, law = [350] * 40, [0.5, 1.5, -2.5, 7.0]
    n, bad = sum(sizes), in_batches(sizes, [0, 1, 13, 25, 26, 39])
    X = rng.normal(size=(n, 3))
    y = line(X, law) + rng.normal(size=n)
    X[bad] = rng.normal(size=(bad.sum(), 3)) * 10.0 ** rng.uniform(0, 9, size=(bad.sum(), 3))
    y[bad] = rng.normal(size=bad.sum()) * 10.0 ** rng.uniform(2, 9, bad.sum())
    return reg(X, y, bad, law, sizes)


@reg_dirty('batches of 40 to 3,000 rows; a quarter of them, small and large, with the sign turned')
def uneven_sign(rng):
    sizes = rng.permutation(np.geomspace(40, 3000, 32).astype(int))
    law = [4.0, 2.0, 40.0]
    n, bad = sum(sizes), in_batches(sizes, np.argsort(sizes)[2::4])
    X = rng.uniform(-2, 3, size=(n, 2))
    y = line(X, law) + rng.normal(0, 3, n)
    y[bad] = -y[bad]
    return reg(X, y, bad, law, sizes)


@reg_dirty('every third batch of a wide stream (50 columns) has its first two blocks of columns exchanged')
def wide_blocks_exchanged(rng):
    sizes, p = [500] * 36, 50
    law = np.append(np.repeat([1.0, -1.0, 0.5, 0.0, 0.2], 10), 8.0)
    n, bad = sum(sizes), batch_of(sizes) % 3 == 1
    X = equal_corr(rng, n, p, 0.2) + np.repeat([5.0, 0, 0, 0, 0], 10)
    y = line(X, law) + rng.normal(0, 2, n)
    X[bad] = X[bad][:, np.r_[10:20, 0:10, 20:50]]
    return reg(X, y, bad, law, sizes)


@reg_dirty('150 batches of 40 rows, 35% of them with the target stuck at zero or at a high value of their own')
def many_tiny_stuck(rng):
    sizes, law = [40] * 150, [5.0, -7.0, 4.0, 70.0]
    n, batch = sum(sizes), batch_of(sizes)
    broken = rng.choice(150, 52, replace=False)
    X = rng.normal(size=(n, 3))
    y = line(X, law) + rng.normal(0, 0.8, n)
    bad = np.isin(batch, broken)
    y[np.isin(batch, broken[:20])] = 0.0
    for b in broken[20:]:
        y[batch == b] = 110.0 + b % 7
    return reg(X, y, bad, law, sizes)


@reg_dirty('wind farm: in a third of the rows of each batch the turbine is curtailed to zero')
def turbine_curtailed(rng):
    sizes, law = [900] * 20, [110.0, -3.0, 15.0, 300.0]
    n = sum(sizes)
    X = np.column_stack([rng.gamma(9, 0.9, n), rng.normal(10, 6, n), rng.normal(size=n)])
    y = line(X, law) + rng.normal(0, 40, n)
    bad = rng.random(n) < 0.33
    y[bad] = np.abs(rng.normal(0, 3, bad.sum()))
    return reg(X, y, bad, law, sizes)


# =================================================================================================
# Regression, honest: tables
# =================================================================================================

def reg_law(note, n, sort_by=None):
    """For a row law draw(rng, n) -> X, y without closed form: an honest table of n rows, its truth simulated."""
    def add(draw):
        def make(rng):
            X, y = draw(rng, n)
            if sort_by is not None:
                order = np.argsort(y if sort_by == 'y' else X[:, sort_by], kind='stable')
                X, y = X[order], y[order]
            return reg(X, y, clean(n), regression_truth(draw))
        make.__name__ = draw.__name__
        reg_honest(note)(make)
        return draw
    return add


def reg_stream_law(note, sizes):
    """The same for a stream: draw(rng, n, place, site) takes each row's place in time (0 to 1) and batch number;
    without them (for the truth) each row has a random place and a site of its own."""
    def add(draw):
        def make(rng):
            n = sum(sizes)
            X, y = draw(rng, n, np.arange(n) / n, batch_of(sizes))
            return reg(X, y, clean(n), regression_truth(draw), sizes)
        make.__name__ = draw.__name__
        reg_honest(note)(make)
        return draw
    return add


def places(rng, n, place):
    return rng.random(n) if place is None else place


def per_site(rng, n, site):
    """A standard normal number for each site."""
    return rng.normal(size=n) if site is None else rng.normal(size=site.max() + 1)[site]


@reg_honest('delivery times: exponential delays on a straight line')
def delivery_delays(rng):
    n, law = 2500, [0.9, 2.5, 1.0, 20.0]
    X = np.column_stack([rng.gamma(3, 5, n), rng.integers(1, 9, n), rng.random(n) < 0.3])
    return reg(X, line(X, law) + rng.exponential(9, n) - 9, clean(n), law)


@reg_law('salaries: a log-normal law fitted by a line', 6000)
def salaries(rng, n):
    X = np.column_stack([rng.integers(0, 40, n), rng.integers(9, 20, n), rng.random(n) < 0.45])
    return X, np.exp(1.5 + 0.02 * X[:, 0] + 0.08 * X[:, 1] - 0.1 * X[:, 2] + 0.45 * rng.normal(size=n))


@reg_honest('stock returns on four factors, noise of t with 3 degrees')
def factor_returns(rng):
    n, law = 1250, [1.1, 0.4, -0.2, 0.1, 0.0002]
    X = 0.01 * rng.standard_t(4, size=(n, 4))
    return reg(X, line(X, law) + 0.012 * rng.standard_t(3, n), clean(n), law)


@reg_law('braking distance: grows with the square of the speed, fitted by a line', 1000)
def braking_distance(rng, n):
    X = np.column_stack([rng.uniform(20, 130, n), rng.random(n) < 0.25, rng.normal(1400, 250, n)])
    return X, 0.2 * X[:, 0] + 0.006 * X[:, 0] ** 2 * (1 + 0.5 * X[:, 1]) + 0.004 * X[:, 2] + rng.normal(0, 4, n)


@reg_law('power demand: heating below 15 degrees and cooling above 22, a flat between', 8760)
def heating_and_cooling(rng, n):
    temp = rng.normal(15, 8, n)
    X = np.column_stack([temp, rng.random(n) < 2 / 7, rng.uniform(0, 24, n)])
    y = 900 + 14 * np.clip(15 - temp, 0, None) + 22 * np.clip(temp - 22, 0, None) - 80 * X[:, 1] + 3 * X[:, 2]
    return X, y + rng.normal(0, 30, n)


@reg_law('advertising: two channels help each other, the product not in the table', 400)
def advertising(rng, n):
    X = rng.gamma(2, 10, size=(n, 3))
    return X, 5 + 0.3 * X[:, 0] + 0.2 * X[:, 1] + 0.02 * X[:, 0] * X[:, 1] + rng.normal(0, 3, n)


@reg_law('bike counts over a day with two rush hours, hour as a number', 5000)
def rush_hours(rng, n):
    hour = rng.integers(0, 24, n)
    X = np.column_stack([hour, rng.normal(14, 7, n), rng.gamma(2, 2, n)])
    peak = np.exp(-0.5 * ((hour - 8) / 1.5) ** 2) + 1.2 * np.exp(-0.5 * ((hour - 17.5) / 2) ** 2)
    rate = np.exp(2.5 + 1.4 * peak + 0.03 * X[:, 1] - 0.03 * X[:, 2])
    return X, rng.poisson(rate)


@reg_honest('twelve shops of very different frequency, one-hot, with a covariate')
def shops_one_hot(rng):
    n, k = 3000, 12
    law = np.append(np.append(8 * np.sin(np.arange(1, k)), 1.4), 50.0)
    share = 0.7 ** np.arange(k)
    X = np.column_stack([dummies(rng.choice(k, n, p=share / share.sum()), k), rng.gamma(4, 3, n)])
    return reg(X, line(X, law) + rng.normal(0, 5, n), clean(n), law)


@reg_law('two machine types, half and half, of other slopes; the type is a column but not the product', 2000)
def two_machine_types(rng, n):
    kind = rng.integers(0, 2, n)
    X = np.column_stack([rng.uniform(0, 10, n), kind, rng.normal(size=n)])
    return X, 10 + (2 + 1.5 * kind) * X[:, 0] - 3 * kind + 2 * X[:, 2] + rng.normal(0, 1.5, n)


@reg_honest('spending by income: noise grows with income')
def spending_fan(rng):
    n, law = 4000, [0.55, 180.0, 300.0]
    X = np.column_stack([rng.lognormal(7.6, 0.5, n), rng.integers(1, 6, n)])
    return reg(X, line(X, law) + 0.22 * X[:, 0] * rng.normal(size=n), clean(n), law)


@reg_law('calls per hour: Poisson counts, log-linear', 2100)
def call_counts(rng, n):
    X = np.column_stack([rng.normal(size=n), rng.random(n) < 0.2, rng.uniform(-1, 1, n)])
    return X, rng.poisson(np.exp(0.8 + 0.5 * X[:, 0] + 0.7 * X[:, 1] - 0.3 * X[:, 2]))


@reg_law('insurance: four of five policies without a claim, gamma amounts for the others', 12000)
def insurance_claims(rng, n):
    X = np.column_stack([rng.integers(18, 85, n), rng.gamma(3, 20, n), rng.random(n) < 0.3])
    chance = 1 / (1 + np.exp(2.0 - 0.006 * X[:, 1] - 0.6 * X[:, 2]))
    return X, (rng.random(n) < chance) * rng.gamma(1.2, 400 + 4 * X[:, 1], n)


@reg_law('visits to the doctor: zero-inflated negative binomial', 3500)
def doctor_visits(rng, n):
    X = np.column_stack([rng.integers(18, 90, n), rng.random(n) < 0.5, rng.poisson(1.2, n)])
    rate = np.exp(-0.3 + 0.012 * X[:, 0] + 0.2 * X[:, 1] + 0.25 * X[:, 2]) * rng.gamma(0.9, 1 / 0.9, n)
    return X, rng.poisson(rate) * (rng.random(n) < 0.65)


@reg_law('trace analysis: a third of the values at the limit of detection', 900)
def detection_limit(rng, n):
    X = np.column_stack([rng.normal(5, 2, n), rng.gamma(2, 1, n)])
    return X, np.maximum(-4 + 1.0 * X[:, 0] + 0.8 * X[:, 1] + rng.normal(0, 1, n), 2.0)


@reg_law('ratings of one to five stars, most of them five', 5000)
def star_ratings(rng, n):
    X = np.column_stack([rng.normal(size=n), rng.exponential(1, n), rng.integers(0, 2, n)])
    return X, np.clip(np.round(4.6 + 0.5 * X[:, 0] - 0.5 * X[:, 1] + 0.3 * X[:, 2] + rng.normal(0, 0.9, n)), 1, 5)


@reg_honest('panel exported with each row three to eight times')
def repeated_rows(rng):
    law = [1.0, -0.5, 0.3, 6.0]
    X = rng.normal(size=(500, 3)) * [1, 2, 4]
    y = line(X, law) + rng.gamma(2, 1, 500) - 2
    times = rng.integers(3, 9, 500)
    X, y = np.repeat(X, times, 0), np.repeat(y, times)
    return reg(X, y, clean(len(y)), law)


@reg_honest('firms: Pareto sizes, the giants on the same line as the rest')
def giant_firms(rng):
    n, law = 1800, [0.12, 3.0, -1.0, 15.0]
    X = np.column_stack([20 * (1 + rng.pareto(2.2, n)), rng.normal(size=n), rng.integers(0, 4, n)])
    return reg(X, line(X, law) + rng.normal(0, 4, n), clean(n), law)


@reg_honest('a hundred correlated columns, 1,500 rows')
def hundred_correlated(rng):
    n, p = 1500, 100
    law = np.append(np.where(np.arange(p) % 7 == 0, 1.0, 0.0), 2.0)
    X = chain_corr(rng, n, p, 0.85) * np.geomspace(0.2, 20, p)
    return reg(X, line(X, law) + rng.normal(0, 10, n), clean(n), law)


@reg_honest('rare flags: three events of 0.5 to 2% of the rows, each with a large effect of its own')
def rare_events(rng):
    n, law = 6000, [2.0, -1.0, 40.0, -55.0, 25.0, 70.0]
    X = np.column_stack([rng.normal(size=(n, 2)), rng.random((n, 3)) < [0.005, 0.01, 0.02]])
    return reg(X, line(X, law) + rng.normal(0, 2, n), clean(n), law)


@reg_law('yes or no as 1 and 0, a third of them yes, fitted by a line', 2500)
def yes_no_answers(rng, n):
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 5, n), rng.exponential(1, n)])
    return X, rng.random(n) < 1 / (1 + np.exp(1.2 - 0.8 * X[:, 0] - 0.25 * X[:, 1] + 0.2 * X[:, 2]))


@reg_law('dose and response: an S-shaped curve with little noise', 640)
def dose_response(rng, n):
    X = np.column_stack([rng.uniform(-4, 4, n), rng.normal(size=n)])
    return X, 100 / (1 + np.exp(-1.3 * X[:, 0])) + 2 * X[:, 1] + rng.normal(0, 3, n)


@reg_honest('daily load with errors that last for days, in the order of time')
def lasting_errors(rng):
    n, law = 1460, [4.0, -2.0, 100.0]
    X = np.column_stack([rng.normal(size=n), rng.random(n) < 2 / 7])
    e = rng.normal(0, 3, n)
    for i in range(1, n):
        e[i] += 0.85 * e[i - 1]
    return reg(X, line(X, law) + e, clean(n), law)


@reg_law('8-bit converter: a clean line, rounded and cut at both ends', 20000)
def eight_bit_converter(rng, n):
    X = rng.normal(size=(n, 2))
    return X, np.clip(np.round(128 + 45 * X[:, 0] - 20 * X[:, 1] + rng.normal(0, 4, n)), 0, 255)


@reg_law('water bill: three rising tariff steps without jumps, small noise, sorted by use', 3000, sort_by=0)
def water_tariff(rng, n):
    use = rng.gamma(4, 12, n)
    X = np.column_stack([use, rng.integers(1, 5, n)])
    y = 8 + 1.2 * use + 0.9 * np.clip(use - 40, 0, None) + 1.3 * np.clip(use - 80, 0, None) + 2 * X[:, 1]
    return X, y + rng.normal(0, 2, n)


@reg_honest('columns of scales 1e-6 to 1e6 around means far from zero, Laplace noise')
def mixed_scales_far_means(rng):
    n, scale = 2000, np.array([1e-6, 1e-2, 1.0, 1e2, 1e6])
    law = np.array([2.0, -1.0, 0.5, 3.0, 1.0]) / scale
    X = (equal_corr(rng, n, 5, 0.5) + [50, -20, 300, 10, 8]) * scale
    law = np.append(law, 20.0)
    return reg(X, line(X, law) + rng.laplace(0, 1, n), clean(n), law)


@reg_honest('sixty rows, three columns, skewed noise')
def sixty_rows(rng):
    n, law = 60, [1.0, 0.5, -2.0, 10.0]
    X = np.column_stack([rng.normal(size=n), rng.gamma(2, 2, n), rng.random(n) < 0.4])
    return reg(X, line(X, law) + rng.chisquare(3, n) - 3, clean(n), law)


@reg_law('beta shares: a proportion pressed against one', 1500)
def proportion_near_one(rng, n):
    X = np.column_stack([rng.normal(size=n), rng.uniform(0, 1, n)])
    m = 1 / (1 + np.exp(-2.2 - 0.7 * X[:, 0] + 1.0 * X[:, 1]))
    return X, rng.beta(6 * m, 6 * (1 - m))


@reg_law('shop sales: negative binomial counts, a busier tenth of days without a column for it', 2900)
def busy_days(rng, n):
    X = np.column_stack([rng.integers(0, 7, n) >= 5, rng.normal(5, 1, n), rng.random(n) < 0.15])
    lift = 1 + (rng.random(n) < 0.1) * rng.gamma(2, 0.4, n)
    return X, rng.poisson(np.exp(3 + 0.4 * X[:, 0] - 0.15 * X[:, 1] + 0.5 * X[:, 2]) * lift * rng.gamma(5, 0.2, n))


@reg_law('house prices: skewed and correlated columns, gamma errors in proportion, sorted by price', 4500, sort_by='y')
def house_prices(rng, n):
    z = equal_corr(rng, n, 5, 0.4)
    X = np.column_stack([np.exp(4.6 + 0.4 * z[:, 0]), np.round(np.exp(1 + 0.3 * z[:, 1])), np.exp(z[:, 2]),
                         (z[:, 3] > 1).astype(float), z[:, 4]])
    y = 30 + 2.2 * X[:, 0] + 12 * X[:, 1] - 4 * X[:, 2] + 40 * X[:, 3] + 15 * X[:, 4]
    return X, y * rng.gamma(16, 1 / 16, n)


# ---- regression, honest: streams ----------------------------------------------------------------

@reg_stream_law('hospitals by batch, their levels and slopes spread by degrees', [300] * 60)
def hospitals(rng, n, place=None, site=None):
    X = np.column_stack([rng.normal(60, 12, n), rng.poisson(2, n)])
    level, slope = per_site(rng, n, site), per_site(rng, n, site)
    return X, 20 + 3 * level + (0.2 + 0.04 * slope) * X[:, 0] + 1.5 * X[:, 1] + rng.gamma(2, 3, n)


@reg_stream_law('sensor that ages: level sinks and slope weakens slowly over the stream', [400] * 40)
def ageing_sensor(rng, n, place=None, site=None):
    u = places(rng, n, place)
    X = rng.normal(size=(n, 3))
    return X, 10 - 3 * u + (2 - 0.6 * u) * X[:, 0] + X[:, 1] - 0.5 * X[:, 2] + rng.normal(0, 1, n)


@reg_stream_law('batches by month: two seasons up and down that no column tells', [500] * 36)
def months(rng, n, place=None, site=None):
    u = places(rng, n, place)
    X = np.column_stack([rng.gamma(3, 2, n), rng.normal(size=n)])
    return X, 30 + 4 * np.sin(6 * np.pi * u) + 1.1 * X[:, 0] - 2 * X[:, 1] + rng.normal(0, 3, n)


@reg_stream_law('load test: stream sorted by load, response bends upwards', [250] * 48)
def rising_load(rng, n, place=None, site=None):
    load = 100 * places(rng, n, place) + rng.normal(0, 8, n)
    X = np.column_stack([load, rng.normal(size=n)])
    return X, 20 + 0.3 * load + 0.006 * load ** 2 + 4 * X[:, 1] + rng.normal(0, 6, n)


@reg_honest('a stream in which calm and nervous days alternate: noise of each batch another, by degrees')
def nervous_days(rng):
    sizes, law = rng.integers(60, 900, 80), [0.8, -0.3, 0.5, 0.0]
    n, batch = sum(sizes), batch_of(sizes)
    X = rng.standard_t(6, size=(n, 3))
    spread = np.exp(0.5 * rng.normal(size=80))[batch]
    return reg(X, line(X, law) + spread * rng.standard_t(5, n), clean(n), law, sizes)


@reg_stream_law('shops by batch of 40 to 60 rows, counts whose level differs from shop to shop', [40, 50, 60] * 40)
def small_shops(rng, n, place=None, site=None):
    X = np.column_stack([rng.random(n) < 0.3, rng.normal(size=n), rng.integers(1, 8, n)])
    return X, rng.poisson(np.exp(2.2 + 0.3 * per_site(rng, n, site) + 0.4 * X[:, 0] + 0.2 * X[:, 1] - 0.03 * X[:, 2]))


# =================================================================================================
# PCA, dirty: tables
# =================================================================================================

SPECTRA = Factors(1, 100, [12.0, 7.0, 4.0], 0.3, 50.0, bumps(100, [0.2, 0.45, 0.8], [0.08, 0.12, 0.05]))


@pca_dirty('Raman spectra, 100 channels: 15% with cosmic-ray spikes of one to four channels')
def raman_spikes(rng):
    n = 400
    X = SPECTRA.rows(rng, n)
    bad = pick(rng, n, 0.15)
    for i in np.flatnonzero(bad):
        X[i, rng.choice(100, rng.integers(1, 5), replace=False)] += rng.uniform(40, 200)
    return pca(X, bad, SPECTRA.truth)


PLANT = Factors(2, 12, [6.0, 4.0], 0.7, np.linspace(20, 90, 12))


@pca_dirty('plant with twelve sensors, four of them stuck for a quarter of the time')
def plant_stuck(rng):
    n = 3000
    X = PLANT.rows(rng, n)
    bad = stretch(n, 0.3, 0.55)
    X[np.ix_(bad, [1, 4, 5, 10])] = [0.0, 100.0, 100.0, 0.0]
    return pca(X, bad, PLANT.truth)


BODY = Factors(3, 8, [9.0, 5.0], 1.2, [172, 95, 80, 100, 60, 45, 38, 35], fixed(3, 8, 2) + [1, 0])


@pca_dirty('body measures in cm, those of 30% of the people in inches')
def body_inches(rng):
    n = 1200
    X = BODY.rows(rng, n)
    bad = pick(rng, n, 0.3)
    X[bad] /= 2.54
    return pca(X, bad, BODY.truth)


@pca_dirty('body measures with the first three columns in another order for a fifth of the rows')
def body_swapped(rng):
    n = 700
    X = BODY.rows(rng, n)
    bad = pick(rng, n, 0.2)
    X[bad, :3] = X[bad][:, [2, 0, 1]]
    return pca(X, bad, BODY.truth)


FLUX = Factors(4, 10, [5.0, 3.0, 2.0], 0.4, 15.0)


@pca_dirty('flux towers: signs of half of the columns turned in a quarter of the rows')
def flux_signs(rng):
    n = 5000
    X = FLUX.rows(rng, n)
    bad = pick(rng, n, 0.25)
    X[bad, ::2] *= -1
    return pca(X, bad, FLUX.truth)


@pca_dirty('flux towers: -9999 in one to three cells of a tenth of the rows')
def flux_sentinels(rng):
    n = 2000
    X = FLUX.rows(rng, n)
    bad = pick(rng, n, 0.1)
    for i in np.flatnonzero(bad):
        X[i, rng.choice(10, rng.integers(1, 4), replace=False)] = -9999
    return pca(X, bad, FLUX.truth)


CELLS = Factors(5, 30, [8.0, 6.0, 4.5, 3.5], 1.0)


@pca_dirty('cytometry: debris as a far cluster of 35%')
def cytometry_debris(rng):
    n = 4000
    X = CELLS.rows(rng, n)
    bad = pick(rng, n, 0.35)
    X[bad] = 12 * np.sign(fixed(51, 30)) + 1.5 * rng.normal(size=(bad.sum(), 30))
    return pca(X, bad, CELLS.truth)


@pca_dirty('cytometry: 30% of the rows lie in another plane, far out')
def cytometry_plane(rng):
    n = 2000
    X = CELLS.rows(rng, n)
    bad = pick(rng, n, 0.3)
    plane = np.linalg.qr(fixed(52, 30, 2))[0]
    X[bad] = 24 * rng.normal(size=(bad.sum(), 2)) @ plane.T + 0.2 * rng.normal(size=(bad.sum(), 30))
    return pca(X, bad, CELLS.truth)


@pca_dirty('40% of the rows drowned in noise 25 times as wide')
def drowned_rows(rng):
    n, law = 1500, PLANT
    X = law.rows(rng, n)
    bad = pick(rng, n, 0.4)
    X[bad] += 25 * rng.normal(size=(bad.sum(), 12))
    return pca(X, bad, law.truth)


IMAGES = Factors(6, 64, [60.0, 40.0, 25.0], 5.0, 110.0,
                 np.column_stack([np.kron(np.cos(np.pi * a * np.arange(8) / 8), np.cos(np.pi * b * np.arange(8) / 8))
                                  for a, b in [(0, 1), (1, 0), (1, 1)]]))


@pca_dirty('8 by 8 grey images, upper or left half overexposed in 20%')
def overexposed_images(rng):
    n = 1800
    X = np.clip(np.round(IMAGES.rows(rng, n)), 0, 255)
    bad = pick(rng, n, 0.2)
    pixels = np.arange(64)
    for i in np.flatnonzero(bad):
        X[i, pixels < 32 if rng.random() < 0.6 else pixels % 8 < 4] = 255
    return pca(X, bad, IMAGES.truth)


HEAVY = Factors(7, 15, [3.0, 2.2], 0.8)


@pca_dirty('elliptical t rows with 6 degrees, a fifth replaced by a far shell on one side')
def heavy_with_shell(rng):
    n = 2500
    X = HEAVY.rows(rng, n) / np.sqrt(rng.chisquare(6, n) / 6)[:, None]
    bad = pick(rng, n, 0.2)
    X[bad] = 40 * np.abs(rng.normal(size=(bad.sum(), 15)))
    return pca(X, bad, HEAVY.truth)


LOADS = np.abs(fixed(8, 20, 2)) * [0.35, 0.25] * np.where(np.arange(20)[:, None] < 10, [1, 0], [0, 1])


def gene_counts(rng, n):
    return np.log1p(rng.poisson(np.exp(4 + rng.normal(size=(n, 2)) @ LOADS.T)))


@pca_dirty('log counts of 20 genes, 15% of the samples with a failed half of the panel (zeros)')
def genes_dropout(rng):
    n = 1000
    X = gene_counts(rng, n)
    bad = pick(rng, n, 0.15)
    X[np.ix_(bad, np.arange(5, 15))] = 0
    return pca(X, bad, pca_truth(gene_counts, 2))


KEYS = np.where(np.arange(14) % 2, -1.0, 1.0)


def keyed_items(rng, n):
    trait = 1.1 * rng.normal(size=(n, 1)) * KEYS + 0.55 * rng.normal(size=(n, 1)) * np.repeat([1, -1], 7)
    return np.clip(np.round(4 + trait + 0.5 * rng.normal(size=(n, 14))), 1, 7)


@pca_dirty('survey of 14 items 1..7 keyed both ways; 30% tick the last answer throughout')
def straight_liners(rng):
    n = 1600
    X = keyed_items(rng, n)
    bad = pick(rng, n, 0.3)
    X[bad] = 7
    X[np.flatnonzero(bad)[::3]] = 1
    return pca(X, bad, pca_truth(keyed_items, 1))


YIELDS = Factors(9, 11, [0.6, 0.25, 0.12], 0.02, 3.0, np.vander(np.linspace(-1, 1, 11), 3, increasing=True))


@pca_dirty('yield curve of 11 terms, 3% bad ticks: a rate in basis points')
def yields_bad_ticks(rng):
    n = 2500
    X = YIELDS.rows(rng, n)
    bad = pick(rng, n, 0.03)
    rows = np.flatnonzero(bad)
    X[rows, rng.integers(0, 11, len(rows))] *= 100
    return pca(X, bad, YIELDS.truth)


@pca_dirty('yield curve in which a quarter of the days are copies of a single wrong day')
def yields_copied_day(rng):
    n = 1200
    X = YIELDS.rows(rng, n)
    bad = stretch(n, 0.1, 0.35)
    X[bad] = 3 + 4 * np.sign(np.sin(3 * np.arange(11)))
    return pca(X, bad, YIELDS.truth)


WIDE = Factors(10, 120, [14.0, 10.0], 1.0)


@pca_dirty('120 columns, 200 rows, a fifth of the rows with a block of columns shifted')
def wide_block_shift(rng):
    n = 200
    X = WIDE.rows(rng, n)
    bad = pick(rng, n, 0.2)
    X[np.ix_(bad, np.arange(30, 70))] += 9 + rng.normal(size=(bad.sum(), 1))
    return pca(X, bad, WIDE.truth)


@pca_dirty('bad cells: 1.5% of the cells of 20 columns far off, a quarter of the rows hit')
def assay_bad_cells(rng):
    n, law = 3000, Factors(11, 20, [4.0, 3.0, 2.2], 0.7, 10.0)
    X = law.rows(rng, n)
    cell = rng.random((n, 20)) < 0.015
    X[cell] += rng.choice([-1, 1], cell.sum()) * rng.uniform(15, 60, cell.sum())
    return pca(X, cell.any(1), law.truth)


@pca_dirty('two tables joined with a shift over 30% of the rows: the right half belongs to another row')
def shifted_join(rng):
    n, law = 2400, Factors(12, 16, [9.0, 7.0], 0.5)
    X = law.rows(rng, n)
    bad = stretch(n, 0.7, 1.0)
    X[bad, 8:] = np.roll(X[bad, 8:], 7, axis=0)
    return pca(X, bad, law.truth)


@pca_dirty('sixty samples of four columns, six of them contaminated')
def sixty_samples(rng):
    n, law = 60, Factors(13, 4, [4.0], 1.0, [5, 10, 2, 7])
    X = law.rows(rng, n)
    bad = pick(rng, n, 0.1)
    X[bad] += 25 * np.array([1, -1, 1, -1]) * np.sign(law.V[:, 0]) * rng.uniform(0.8, 1.2, (bad.sum(), 1))
    return pca(X, bad, law.truth)


@pca_dirty('skewed (exponential) scores, a tenth of the rows a far cluster')
def skewed_with_cluster(rng):
    n, law = 2000, Factors(14, 9, [5.0, 3.0], 0.8)
    X = law.rows(rng, n, rng.exponential(1, (n, 2)) - 1)
    bad = pick(rng, n, 0.1)
    X[bad] = 30 * np.linalg.qr(np.column_stack([law.V, fixed(141, 9)]))[0][:, 2] + rng.normal(size=(bad.sum(), 9))
    return pca(X, bad, law.truth)


SCALES = Factors(15, 10, [30.0, 12.0], np.geomspace(0.01, 4, 10))


@pca_dirty('columns of mixed scales; 20% of the rows with two columns a thousandfold')
def mixed_scales_thousandfold(rng):
    n = 1500
    X = SCALES.rows(rng, n) + np.geomspace(1, 300, 10)
    bad = pick(rng, n, 0.2)
    X[np.ix_(bad, [2, 6])] *= 1000
    return pca(X, bad, SCALES.truth)


@pca_dirty('five dirts at once over 33%: spikes, zeros, sign, scale, another law')
def five_dirts(rng):
    n, law = 6000, Factors(16, 18, [5.0, 4.0, 3.0], 0.6, 8.0)
    X = law.rows(rng, n)
    dirt = rng.permutation(np.repeat(np.arange(6), [4020, 400, 400, 400, 400, 380]))
    X[dirt == 1, 3] += 90
    X[dirt == 2] = 0
    X[dirt == 3, :9] *= -1
    X[dirt == 4] *= 4
    X[dirt == 5] = rng.gamma(2, 12, size=((dirt == 5).sum(), 18))
    return pca(X, dirt > 0, law.truth)


@pca_dirty('38% of another population, with a mean and axes of its own, its spread the same')
def other_population(rng):
    n, law, other = 3000, Factors(17, 12, [4.0, 3.0], 0.6), Factors(171, 12, [4.0, 3.0], 0.6)
    X = law.rows(rng, n)
    bad = pick(rng, n, 0.38)
    X[bad] = other.rows(rng, bad.sum()) + 5 * np.sin(np.arange(12))
    return pca(X, bad, law.truth)


# ---- PCA, dirty: streams ------------------------------------------------------------------------

TELEMETRY = Factors(20, 16, [5.0, 3.5, 2.5], 0.8)


@pca_dirty('telemetry stream whose first 40% of batches come from a simulator on other axes')
def simulator_at_start(rng):
    sizes, other = [300] * 40, np.linalg.qr(np.column_stack([TELEMETRY.V, fixed(201, 16, 2)]))[0][:, 3:]
    n, bad = sum(sizes), in_batches(sizes, range(16))
    X = TELEMETRY.rows(rng, n)
    X[bad] = 20 * rng.normal(size=(bad.sum(), 2)) @ other.T + 0.8 * rng.normal(size=(bad.sum(), 16))
    return pca(X, bad, TELEMETRY.truth, sizes)


@pca_dirty('telemetry that ends in garbage: a quarter of the batches of values up to 1e8')
def garbage_at_end(rng):
    sizes = [500] * 24
    n, bad = sum(sizes), in_batches(sizes, range(18, 24))
    X = TELEMETRY.rows(rng, n)
    X[bad] = rng.normal(size=(bad.sum(), 16)) * 10 ** rng.uniform(1, 8, size=(bad.sum(), 16))
    return pca(X, bad, TELEMETRY.truth, sizes)


@pca_dirty('45% of the batches collude: one strong direction added, the same in all of them')
def colluding_direction(rng):
    sizes = [200] * 60
    n, bad = sum(sizes), in_batches(sizes, rng.choice(60, 27, replace=False))
    extra = np.linalg.qr(np.column_stack([TELEMETRY.V, fixed(202, 16)]))[0][:, 3]
    X = TELEMETRY.rows(rng, n)
    X[bad] += 18 * np.outer(rng.choice([-1, 1], bad.sum()) * (1 + 0.3 * rng.normal(size=bad.sum())), extra)
    return pca(X, bad, TELEMETRY.truth, sizes)


@pca_dirty('15% of the rows of each batch blown up, and a fifth of the batches with columns in reverse order')
def rows_and_reversed_batches(rng):
    sizes, law = [600] * 30, Factors(21, 10, [4.0, 3.0], 0.5, np.linspace(0, 40, 10))
    n, whole = sum(sizes), in_batches(sizes, rng.choice(30, 6, replace=False))
    X = law.rows(rng, n)
    rows = ~whole & (rng.random(n) < 0.15)
    X[rows] *= rng.uniform(4, 9, (rows.sum(), 1))
    X[whole] = X[whole][:, ::-1]
    return pca(X, rows | whole, law.truth, sizes)


@pca_dirty('eight nodes in turn, two of them with an offset that jumps and then grows')
def nodes_with_offset(rng):
    sizes, law = [250] * 64, Factors(22, 14, [4.0, 2.5], 0.8)
    n, batch = sum(sizes), batch_of(sizes)
    X, bad = law.rows(rng, n), np.isin(batch % 8, [1, 6])
    X[bad] += np.outer(8 + 0.3 * batch[bad], np.cos(np.arange(14)))
    return pca(X, bad, law.truth, sizes)


@pca_dirty('stale batches: a third of the batches repeat one frozen far-off row, with a little jitter')
def frozen_batches(rng):
    sizes, law = [150] * 45, Factors(23, 8, [3.0, 2.0], 0.6, 5.0)
    n, bad = sum(sizes), in_batches(sizes, rng.choice(45, 15, replace=False))
    X = law.rows(rng, n)
    X[bad] = 5 + 7 * np.array([1, -1, 1, 1, -1, -1, 1, -1]) + 0.01 * rng.normal(size=(bad.sum(), 8))
    return pca(X, bad, law.truth, sizes)


@pca_dirty('batches of 40 to 3,000 rows, 30% of them with some columns in other units')
def uneven_units(rng):
    law = Factors(24, 9, [6.0, 4.0, 2.5], 0.5, 30.0)
    sizes = rng.permutation(np.geomspace(40, 3000, 20).astype(int))
    n, bad = sum(sizes), in_batches(sizes, np.argsort(sizes)[[1, 4, 7, 11, 14, 17]])
    X = law.rows(rng, n)
    X[np.ix_(bad, [0, 3, 7])] *= 3.281
    return pca(X, bad, law.truth, sizes)


@pca_dirty('150 batches of 40 rows, 40% of them pure wide noise')
def many_tiny_noise(rng):
    sizes, law = [40] * 150, Factors(25, 6, [3.0], 0.8)
    n, bad = sum(sizes), in_batches(sizes, rng.choice(150, 60, replace=False))
    X = law.rows(rng, n)
    X[bad] = rng.normal(size=(bad.sum(), 6)) * [3, 25, 3, 25, 3, 3] + [0, 9, 0, 0, 0, 0]
    return pca(X, bad, law.truth, sizes)


@pca_dirty('spectrometers by batch, 100 channels: five of 25 with a sloping baseline many times the signal')
def sloping_baseline(rng):
    sizes = [240] * 25
    n, bad = sum(sizes), in_batches(sizes, [2, 3, 9, 16, 24])
    X = SPECTRA.rows(rng, n)
    X[bad] += np.outer(rng.uniform(20, 60, bad.sum()), np.linspace(-1, 1, 100))
    return pca(X, bad, SPECTRA.truth, sizes)


# =================================================================================================
# PCA, honest: tables
# =================================================================================================

def pca_law(note, n, d, truth_rows=400_000):
    """For a row law draw(rng, n) -> X without closed form: an honest table of n rows."""
    def add(draw):
        def make(rng):
            return pca(draw(rng, n), clean(n), pca_truth(draw, d, rows=truth_rows))
        make.__name__ = draw.__name__
        pca_honest(note)(make)
        return draw
    return add


def pca_stream_law(note, sizes, d, truth_rows=400_000):
    """The same for a stream, as in reg_stream_law."""
    def add(draw):
        def make(rng):
            n = sum(sizes)
            return pca(draw(rng, n, np.arange(n) / n, batch_of(sizes)), clean(n), pca_truth(draw, d, rows=truth_rows), sizes)
        make.__name__ = draw.__name__
        pca_honest(note)(make)
        return draw
    return add


EXPRESSION = fixed(30, 40, 2) * [0.5, 0.3]


@pca_law('expression of 40 genes not logged: log-normal, skewed', 1500, 2)
def expression_unlogged(rng, n):
    return np.exp(1 + rng.normal(size=(n, 2)) @ EXPRESSION.T * 0.8 + 0.15 * rng.normal(size=(n, 40)))


@pca_honest('mixtures of three substances in spectra of 100 channels, gamma concentrations')
def mixture_spectra(rng):
    n = 600
    return pca(SPECTRA.rows(rng, n, (rng.gamma(3, 1, (n, 3)) - 3) / np.sqrt(3)), clean(n), SPECTRA.truth)


STOCKS = Factors(31, 50, [0.07, 0.045, 0.03], 0.012)


@pca_honest('returns of 50 stocks: factors and noise of t with 5 degrees')
def stock_returns(rng):
    n, t = 1250, np.sqrt(3 / 5)
    return pca(STOCKS.rows(rng, n, t * rng.standard_t(5, (n, 3)), t * rng.standard_t(5, (n, 50))), clean(n), STOCKS.truth)


@pca_honest('returns whose volatility is common to a day: elliptical, a gamma scale for each row')
def common_volatility(rng):
    n, law = 2000, Factors(32, 20, [3.0, 2.0], 0.8)
    scale = np.sqrt(rng.gamma(2.5, 1 / 2.5, n))[:, None]
    return pca(law.rows(rng, n) * scale, clean(n), law.truth)


SHAPES = np.clip(2 * fixed(33, 5, 36), -4, 4)


@pca_law('five shapes of 6 by 6 pixels, equally frequent, with noise and strength', 3000, 4)
def five_shapes(rng, n):
    return SHAPES[rng.integers(0, 5, n)] * rng.uniform(0.6, 1.4, (n, 1)) + rng.normal(size=(n, 36))


ITEMS = Factors(34, 18, [2.4, 1.8], 0.7, 3.2)


@pca_law('survey of 18 items, rounded to 1..5', 900, 2)
def likert_items(rng, n):
    return np.clip(np.round(ITEMS.rows(rng, n)), 1, 5)


PURCHASES = np.abs(fixed(35, 25, 2)) * [0.6, 0.4] * np.where(np.arange(25)[:, None] < 13, [1, 0.1], [0.1, 1])


@pca_law('purchases of 25 goods: small Poisson counts with many zeros', 8000, 2)
def purchase_counts(rng, n):
    return rng.poisson(np.exp(-0.3 + rng.normal(size=(n, 2)) @ PURCHASES.T))


@pca_law('customers: four one-hot categories and three measures', 2000, 2)
def customers_mixed(rng, n):
    z = rng.normal(size=(n, 2))
    group = np.clip(np.round(1.5 + 0.8 * z[:, 0]), 0, 3).astype(int)
    return np.column_stack([group[:, None] == np.arange(4), 2 * z[:, 0] + 0.5 * rng.normal(size=n),
                            1.2 * z[:, 1] + 0.4 * rng.normal(size=n), 0.8 * z.sum(1) + 0.3 * rng.normal(size=n)]).astype(float)


SPECIES = 3.5 * fixed(36, 3, 7)


@pca_law('three species, a third each, seven measures, classes apart', 450, 2)
def three_species(rng, n):
    return SPECIES[rng.integers(0, 3, n)] + chain_corr(rng, n, 7, 0.5)


@pca_law('age groups 50, 30 and 20%, their means in a row and overlapping', 2400, 1)
def age_groups(rng, n):
    group = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    return 2.0 * group[:, None] * np.array([1, 0.8, 0.5, -0.6, 0.3, 0.0]) + rng.normal(size=(n, 6))


@pca_law('a horseshoe: rows along a bent curve in ten columns', 1500, 2)
def horseshoe(rng, n):
    t = rng.uniform(0, 1, n)[:, None]
    bend = np.hstack([3 * np.cos(np.pi * t), 2.2 * np.sin(1.6 * np.pi * t)]) @ np.linalg.qr(fixed(37, 10, 2))[0].T
    return bend + 0.25 * rng.normal(size=(n, 10))


@pca_law('rainfall at 12 stations: dry in three of five days, gamma amounts in wet ones', 3650, 1)
def rainfall(rng, n):
    wet = rng.random((n, 1)) < 0.4
    amount = rng.gamma(1.5, 4, (n, 1)) * (1 + 0.5 * np.sin(np.arange(12))) * rng.gamma(8, 1 / 8, (n, 12))
    return np.where(wet, np.round(amount, 1), 0.0)


@pca_honest('Laplace scores and noise')
def laplace_scores(rng):
    n, law, t = 1000, Factors(38, 12, [3.0, 2.0, 1.6], 0.6), np.sqrt(0.5)
    return pca(law.rows(rng, n, rng.laplace(0, t, (n, 3)), rng.laplace(0, t, (n, 12))), clean(n), law.truth)


@pca_honest('80 samples of 120 columns, three strong directions')
def more_columns_than_rows(rng):
    n, law = 80, Factors(39, 120, [20.0, 14.0, 10.0], 1.0, 100.0)
    return pca(law.rows(rng, n), clean(n), law.truth)


@pca_honest('columns of scales 0.01 to 100 around means far from zero')
def scales_and_far_means(rng):
    n = 2500
    noise = np.geomspace(0.01, 8, 12)
    law = Factors(40, 12, [100.0, 40.0], noise, 1e4 * noise)
    return pca(law.rows(rng, n), clean(n), law.truth)


@pca_honest('table in which each row stands five times')
def rows_five_times(rng):
    law = Factors(41, 7, [3.0, 2.0], 0.7)
    X = np.repeat(law.rows(rng, 300, rng.gamma(4, 0.5, (300, 2)) - 2), 5, axis=0)
    return pca(X, clean(len(X)), law.truth)


@pca_law('machine states: six measures and four rare flags with an effect on two of them', 5000, 2)
def rare_flags(rng, n):
    flags = rng.random((n, 4)) < [0.005, 0.01, 0.02, 0.03]
    X = FLUX.rows(rng, n)[:, :6]
    X[:, 1] += 4 * flags[:, 1]
    X[:, 4] += 5 * flags[:, 2] - 3 * flags[:, 3]
    return np.column_stack([X, flags])


@pca_law('concentrations cut at a limit of detection in half of the columns', 1100, 2)
def cut_at_limit(rng, n):
    X = CELLS.rows(rng, n)[:, :14]
    X[:, ::2] = np.maximum(X[:, ::2], -0.5)
    return X


@pca_law('shares of seven parts that sum to one', 2000, 2)
def shares(rng, n):
    return rng.dirichlet([6, 4, 1.2, 1, 0.8, 0.6, 0.4], n)


@pca_law('sizes of shells: products, so that all columns are skewed and fan out', 1600, 1)
def shell_sizes(rng, n):
    size = np.exp(0.45 * rng.normal(size=(n, 1)))
    return size * np.array([10, 8, 6, 5, 3, 2]) * np.exp(0.1 * rng.normal(size=(n, 6)))


# ---- PCA, honest: streams -----------------------------------------------------------------------

@pca_stream_law('twenty rooms through the year: a season common to all columns', [400] * 26, 2)
def rooms_season(rng, n, place=None, site=None):
    u = places(rng, n, place)
    wave = np.outer(np.sin(2 * np.pi * u), np.linspace(0.5, 1.5, 20)) * 2
    return 20 + wave + np.outer(rng.normal(size=n), np.cos(np.arange(20))) * 0.8 + 0.4 * rng.normal(size=(n, 20))


@pca_stream_law('a stream whose mean wanders off slowly along a direction of its own', [250] * 50, 3)
def slow_drift(rng, n, place=None, site=None):
    u = places(rng, n, place)
    return TELEMETRY.rows(rng, n) + np.outer(3 * u, np.sin(np.arange(16)))


SITE_AXES = np.linalg.qr(fixed(42, 10, 4))[0]


@pca_stream_law('sites by batch: their means spread by degrees along two axes', [120] * 90, 2)
def sites_by_degrees(rng, n, place=None, site=None):
    means = np.column_stack([per_site(rng, n, site), per_site(rng, n, site)]) * [0.8, 0.6]
    scores = means + rng.normal(size=(n, 2)) * [2.5, 1.8]
    return scores @ SITE_AXES[:, :2].T + 0.6 * rng.normal(size=(n, 10))


@pca_honest('stream in which the scale of each batch is another, by degrees; sizes uneven')
def changing_volatility(rng):
    sizes, law = rng.integers(80, 1200, 60), Factors(43, 12, [3.0, 2.2], 0.7)
    n, batch = sum(sizes), batch_of(sizes)
    scale = np.exp(0.35 * rng.normal(size=60))[batch]
    return pca(law.rows(rng, n) * scale[:, None], clean(n), law.truth, sizes)


@pca_stream_law('counts of twelve log events by hour, busier by day than by night', [200] * 48, 1)
def log_events(rng, n, place=None, site=None):
    day = 0.5 + 0.5 * np.sin(4 * np.pi * places(rng, n, place))
    rate = np.outer(0.5 + day, np.linspace(2, 14, 12)) * rng.gamma(5, 0.2, (n, 1))
    return rng.poisson(rate)
