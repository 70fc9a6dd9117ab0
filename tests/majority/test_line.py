"""The line of the majority: least squares on honest tables of every shape, the clean rows' line on dirty ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from robustream.majority import line, rivals
from robustream.majority.columns import spread_lattice
from robustream.majority.line import attached_atom, majority_line
from robustream.majority.lines import (
    SETTLED,
    STILL,
    TAILS,
    OneLine,
    TwoLines,
    fit_gate,
    fit_weighted,
    residual_squares,
    skewed_noise,
    t_noise,
)

ROWS = 1500
COEF = np.array([2.0, -1.0, 0.5])


def fitted(X, y, weights=None):
    """Coefficients and intercept of weighted least squares."""
    A = np.column_stack([X, np.ones(len(X)), y])
    return fit_weighted(A, weights)[0]


def line_of(X, y, seed=0):
    return majority_line(np.asarray(X, float), np.asarray(y, float), seed)


def design(rng, rows=ROWS):
    return rng.normal(size=(rows, 3))


HONEST = {
    "normal": lambda rng, X: X @ COEF + rng.normal(size=len(X)),
    "uniform": lambda rng, X: X @ COEF + rng.uniform(-2, 2, len(X)),
    "exponential": lambda rng, X: X @ COEF + rng.exponential(2.0, len(X)),
    "log-normal": lambda rng, X: X @ COEF + rng.lognormal(0.0, 1.0, len(X)),
    "skewed fan": lambda rng, X: X @ COEF + rng.exponential(size=len(X)) * np.exp(0.5 * X[:, 0]),
    "square": lambda rng, X: X @ COEF + X[:, 0] ** 2 + 0.5 * rng.normal(size=len(X)),
    "kink": lambda rng, X: 4 * np.maximum(X[:, 0], 0) + 0.5 * rng.normal(size=len(X)),
    "product": lambda rng, X: X @ COEF + 2 * np.exp(X[:, 0] / 2) * X[:, 1] + 0.5 * rng.normal(size=len(X)),
    "counts": lambda rng, X: rng.poisson(np.exp(0.5 * X[:, 0])).astype(float),
    "flags": lambda rng, X: (rng.random(len(X)) < 1 / (1 + np.exp(-X[:, 0]))).astype(float),
}


@pytest.mark.parametrize("kind", HONEST)
@pytest.mark.parametrize("seed", range(3))
def test_honest_targets_get_least_squares(kind, seed):
    rng = np.random.default_rng(seed)
    X = design(rng)
    line = line_of(X, HONEST[kind](rng, X))
    assert line.groups == ()
    np.testing.assert_array_equal(line.weights, 1.0)


def test_a_regime_of_a_category_is_no_dirt():
    """Two kinds of buildings with other levels: which kind a row is stands in x, and the line is only too simple."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=ROWS), rng.integers(0, 2, ROWS), rng.integers(1, 5, ROWS)])
    y = X[:, 0] + 20 * X[:, 1] * (X[:, 2] > 2) + 0.1 * rng.normal(size=ROWS)
    assert line_of(X, y).groups == ()


def shifted(rng, X, y, bad):
    y[bad] += 15


def flipped(rng, X, y, bad):
    y[bad] = -X[bad] @ COEF + rng.normal(size=bad.sum())


def cluster(rng, X, y, bad):
    X[bad] = 8 + 0.3 * rng.normal(size=(bad.sum(), X.shape[1]))
    y[bad] = -30 + rng.normal(size=bad.sum())


def code(rng, X, y, bad):
    X[bad, 2] = 9999.0


def stuck(rng, X, y, bad):
    X[bad], y[bad] = -1.0, 40.0


@pytest.mark.parametrize("spoil", [shifted, flipped, cluster, code, stuck])
@pytest.mark.parametrize("share", [0.1, 0.25, 0.4])
def test_dirty_tables_get_the_line_of_their_clean_rows(spoil, share):
    squares = np.zeros(2)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = design(rng)
        y = X @ COEF + 3 + rng.normal(size=ROWS)
        bad = rng.random(ROWS) < share
        clean = fitted(X[~bad], y[~bad])
        spoil(rng, X, y, bad)
        line = line_of(X, y)
        assert sum(group.rows for group in line.groups) > 0.3 * bad.sum()
        truth = np.append(COEF, 3.0)
        squares += [np.sum((fitted(X, y, line.weights) - truth) ** 2), np.sum((clean - truth) ** 2)]
    # 16 squares each: half of the ratio's logarithm has a standard error of 0.35. Rows of a flipped line that lie in
    # the noise of the other cost information that nothing brings back.
    assert squares[0] < (2.5 if spoil is flipped else 1.5) ** 2 * squares[1]


def test_good_leverage_is_kept_beside_bad():
    rng = np.random.default_rng(3)
    X = design(rng)
    X[:60] *= 12  # far out, and on the line
    y = X @ COEF + rng.normal(size=ROWS)
    cluster(rng, X, y, np.arange(ROWS) >= ROWS - 200)
    line = line_of(X, y)
    # Those that lie on the side of the bad ones go with them.
    assert line.weights[:60].mean() > 0.6
    assert line.weights[-200:].max() < 0.5


@pytest.mark.parametrize("order", ["shuffled", "by target", "by column", "reversed"])
def test_the_order_of_rows_does_not_matter(order):
    rng = np.random.default_rng(1)
    X = design(rng)
    y = X @ COEF + rng.normal(size=ROWS)
    y[:450] += 12
    places = {
        "shuffled": rng.permutation(ROWS),
        "by target": np.argsort(y),
        "by column": np.argsort(X[:, 0]),
        "reversed": np.arange(ROWS)[::-1],
    }[order]
    here, there = line_of(X, y), line_of(X[places], y[places])
    np.testing.assert_allclose(fitted(X, y, here.weights), fitted(X[places], y[places], there.weights), atol=1e-6)


@given(
    scale=st.sampled_from([1e-6, 1e-2, 1.0, 1e3, 1e6]),
    shift=st.sampled_from([0.0, -1e3, 1e6]),
    target=st.sampled_from([1e-6, 1.0, 1e6]),
)
@settings(max_examples=12, deadline=None)
def test_units_do_not_matter(scale, shift, target):
    rng = np.random.default_rng(2)
    X = design(rng, 600)
    y = X @ COEF + rng.normal(size=600)
    y[:150] -= 14
    plain, moved = line_of(X, y), line_of(X * scale + shift * scale, y * target)
    assert np.mean((plain.weights > 0.5) == (moved.weights > 0.5)) > 0.99


@pytest.mark.parametrize("rows", [3, 10, 11])
def test_too_few_rows_are_no_evidence(rows):
    rng = np.random.default_rng(rows)
    X, y = rng.normal(size=(rows, 3)), rng.normal(size=rows)
    y[0] = 1e6
    assert line_of(X, y).groups == ()


@pytest.mark.parametrize(
    "make",
    [
        lambda: (np.zeros((400, 3)), np.zeros(400)),
        lambda: (np.ones((400, 3)), np.arange(400.0)),
        lambda: (np.arange(1200.0).reshape(400, 3), np.arange(400.0)),
        lambda: (np.repeat(np.eye(4), 100, axis=0), np.repeat(np.arange(4.0), 100)),
    ],
    ids=["all equal", "constant columns", "exact fit", "copies alone"],
)
def test_degenerate_tables_keep_all_rows(make):
    X, y = make()
    with np.errstate(all="ignore"):
        assert np.all(line_of(X, y).weights == 1)


def test_a_skewed_law_beats_a_symmetric_one_on_skewed_residuals():
    rng = np.random.default_rng(0)
    r = rng.exponential(size=2000)
    r -= r.mean()
    assert skewed_noise(r) > t_noise(r, np.ones(len(r)))[0] + 100


def test_a_code_stays_apart_when_a_lattice_is_spread():
    rng = np.random.default_rng(0)
    values = np.append(rng.integers(0, 6, 500).astype(float), np.full(50, 9999.0))
    spread = spread_lattice(values[:, None], rng)[0][:, 0]
    assert spread[:500].max() < 20
    assert spread[500:].min() > 9900


def plain_gate(Z, w, a):
    """What `fit_gate` computes, as one reads it: of three logistic regressions the one that gains most, if any does."""
    n, m = len(w), np.clip(w.mean(), 0.01, 0.99)
    flat = np.array([np.log(m / (1 - m)), 0.0, 0.0])
    best, most = flat, 0.0
    score = (w - m) @ Z[:, 1:] / np.sqrt(m * (1 - m) * np.square(Z[:, 1:]).sum(axis=0) + 1e-300)
    if not a[1:].any() and max(-score[0], score[1]) ** 2 < np.log(n):
        return flat
    for on in ([0, 1, 2], [0, 1], [0, 2]) if Z[:, 2].any() else ([0, 1],):
        x, f = Z[:, on], np.where(np.array([0.0, -1.0, 1.0]) * a >= 0, a, 0.0)[on]
        for _ in range(4):
            prior = 1 / (1 + np.exp(-np.clip(x @ f, -30, 30)))
            H = (x * (prior * (1 - prior) + 1e-3)[:, None]).T @ x + 0.01 * np.eye(len(on))
            step = np.linalg.solve(H, x.T @ (w - prior) - 0.01 * f)
            f = f + step
            if np.abs(step).sum() < STILL:
                break
        logit = np.clip(x @ f, -30, 30)
        gain = w @ logit - np.log1p(np.exp(logit)).sum() - n * (m * flat[0] - np.log1p(np.exp(flat[0])))
        gain -= 0.5 * (len(on) - 1) * np.log(n)
        new = np.zeros(3)
        new[on] = f
        if new[1] <= 0 <= new[2] and gain > most:
            best, most = new, gain
    return best


class PlainSteps(TwoLines):
    """What `TwoLines.run` computes, as one reads it."""

    def open_gate(self, refresh):
        """Work out the prior of each row, with the gate fitted anew if wanted."""
        if refresh:
            second = None
            if self.form != "none" and self.n2 > self.k:
                second = self.L2 if self.form == "free" else fit_weighted(self.A, self.w2 * self.other)[1]
            # Where there is no second scatter its share of the gate is 0.
            self.scatters = ((self.L, self.n1), (self.L if second is None else second, self.n2))
            Z = self.Z
            Z[1] = self._distance(self.A, self.L, self.n1, self.u)
            Z[2] = 0.0 if second is None else self._distance(self.A, second, self.n2, self.w2 * self.other)
            self.middle = Z[1:].mean(axis=1)
            Z[1:] -= self.middle[:, None]
            self.a = fit_gate(Z, self.w1, self.a)
        if self.a[1:].any():
            self.prior = 1 / (1 + np.exp(-np.clip(self.a @ self.Z, -30, 30)))
        else:
            self.prior = np.full(self.n, np.clip(self.w1.mean(), 0.01, 0.99))
        self._local()
        q = self.w2.sum() / max(self.n - self.w1.sum(), 1e-9)
        self.q = 0.0 if self.form == "none" else float(np.clip(q, 0.01, 0.99))

    def run_plainly(self, steps):
        """Take steps until the likelihood has settled."""
        for step in range(steps):
            self.maximise()
            refresh = self.steps % 3 == 2
            self.open_gate(refresh)
            self.steps += 1
            if abs(self.expect()) < SETTLED and refresh and step > 1:
                break
        return self


@pytest.mark.parametrize("form", ["free", "flat", "parallel", "none"])
@pytest.mark.parametrize("freedom", [np.inf, 3.0])
@pytest.mark.parametrize(("rows", "columns", "share"), [(300, 3, 0.3), (60, 2, 0.4)])
def test_compiled_steps_are_the_plain_ones(form, freedom, rows, columns, share):
    rng = np.random.default_rng(0)
    X, coef = rng.normal(size=(rows, columns)), rng.normal(size=columns)
    y = X @ coef + 0.3 * rng.normal(size=rows)
    bad = int(share * rows)
    y[:bad] = 1 - X[:bad] @ coef
    X[: bad // 2] *= 3
    A = np.column_stack([X, np.ones(rows), y])
    w = (np.abs(y - X @ coef) < 1).astype(float)
    fast, plain = (steps(A, w, 1 - w, 0.05, 0.0, form, freedom) for steps in (TwoLines, PlainSteps))
    fast.run(12)
    plain.run_plainly(12)
    assert fast.steps == plain.steps
    # Twelve steps multiply the rounding of products that are summed in another order.
    for name in ("b", "g", "s", "t", "q", "ll", "w1", "w2", "prior", "r1", "r2", "a", "middle", "tail"):
        np.testing.assert_allclose(getattr(fast, name), getattr(plain, name), rtol=1e-6, atol=1e-8, err_msg=name)
    np.testing.assert_allclose(fast.spread(A).w1, plain.spread(A).w1, atol=1e-7)


@pytest.mark.parametrize("seed", range(30))
def test_the_compiled_gate_is_the_plain_one(seed):
    rng = np.random.default_rng(seed)
    Z = np.column_stack([np.ones(300), rng.normal(size=(300, 2)) * [1.0, seed % 3 > 0]])
    w = 1 / (1 + np.exp(-(Z @ rng.normal(size=3) + rng.normal(size=300))))
    a = np.zeros(3) if seed % 2 else rng.normal(size=3) * [1.0, 1.0, seed % 3 > 0]
    # Up to four Newton steps of doubles.
    np.testing.assert_allclose(fit_gate(np.ascontiguousarray(Z.T), w, a), plain_gate(Z, w, a), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("both_sides", [False, True])
def test_targets_that_stand_clear_go(both_sides):
    rng = np.random.default_rng(0)
    X = design(rng)
    y = X @ COEF + rng.normal(size=ROWS)
    y[:300] += np.where(rng.random(300) < 0.5, -25, 25) if both_sides else 25
    # Beside a background a posterior leaves out good rows beyond 2.5 scales too: 1.2% of normal ones.
    assert np.mean(line_of(X, y).believed == (np.arange(ROWS) >= 300)) > 0.98


@pytest.mark.parametrize("kind", ["strewn", "cluster"])
def test_rows_that_stand_clear_in_x_go(kind):
    rng = np.random.default_rng(0)
    X = design(rng)
    y = X @ COEF + rng.normal(size=ROWS)
    X[:300] = X[:300] * 8 if kind == "strewn" else X[:300] + 9
    y[:300] = 40 * rng.normal(size=300)
    assert np.mean(line_of(X, y).believed == (np.arange(ROWS) >= 300)) > 0.98


LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.uniform(-1, 1, n),
    "t3": lambda rng, n: rng.standard_t(3, n),
    "Cauchy": lambda rng, n: rng.standard_cauchy(n),
    "two scales": lambda rng, n: rng.normal(size=n) * np.where(rng.random(n) < 0.1, 30, 1),
    "a few far": lambda rng, n: np.where(rng.random(n) < 0.02, 1e4, rng.normal(size=n)),
}


def plain_t_noise(r, w):
    """What `t_noise` computes, as one reads it: the best t law of a grid, or the normal one."""
    total = w.sum()
    v = (w * r * r).sum() / total
    best, nus = (-0.5 * total * (np.log(2 * np.pi * v) + 1), np.inf, np.sqrt(v)), TAILS
    enough = best[0] + 0.5 * np.log(total + 1)
    for nu in nus:
        for _ in range(200):
            v = (w * r * r * (nu + 1) / (nu + r * r / v)).sum() / total
        ll = (w * student.logpdf(r, nu, scale=np.sqrt(v))).sum()
        best = max(best, (ll, nu, np.sqrt(v))) if ll > enough else best
    return best


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("rows", [60, 1000])
def test_the_compiled_noise_is_the_plain_one(law, rows):
    rng = np.random.default_rng(rows)
    r, w = LAWS[law](rng, rows), rng.random(rows)
    fast, plain = t_noise(r, w), plain_t_noise(r, w)
    # Steps end when the square of the scale changes by less than 1%: the likelihood has its maximum there.
    assert fast[1] == plain[1]
    np.testing.assert_allclose(fast[2], plain[2], rtol=0.02)
    np.testing.assert_allclose(fast[0], plain[0], atol=5e-5 * rows)


def test_terms_of_a_curve_are_hinges_and_products():
    X = np.random.default_rng(0).normal(size=(3, 50)).astype(np.float32)
    knots = np.sort(X, axis=1)[:, [10, 40]]
    plain = [np.maximum(x - knot, 0) for x, row in zip(X, knots, strict=True) for knot in row]
    plain += [X[0] * X[0], X[2] * X[0], X[2] * X[2]]
    np.testing.assert_allclose(rivals._terms(X, knots, np.array([0, 2])), plain, rtol=1e-6)


def test_far_rows_that_follow_the_line_are_no_group():
    rng = np.random.default_rng(0)
    X = design(rng)
    X[:300] *= 8
    assert not line_of(X, X @ COEF + rng.normal(size=ROWS)).groups


@pytest.mark.parametrize("columns", [8, 20])
@pytest.mark.parametrize("seed", range(3))
def test_a_cluster_that_no_column_shows_does_not_draw_the_line_to_itself(columns, seed):
    """Columns share a few strong factors; a cluster lies off them, so that least squares fits it by one direction."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 3)) @ (3 * rng.normal(size=(3, columns))) + rng.normal(size=(ROWS, columns))
    y = X @ np.ones(columns) + rng.normal(size=ROWS)
    X[:400] += 4 * rng.normal(size=columns)
    y[:400] += 50
    np.testing.assert_array_equal(line_of(X, y).believed, np.arange(ROWS) >= 400)


def test_sums_of_residuals_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    tables = [np.column_stack([rng.normal(size=(50, 3)), np.ones(50), rng.normal(size=50)]) for _ in range(4)]
    plain = [np.linalg.lstsq(A[:, :-1], A[:, -1], rcond=None)[1][0] for A in tables]
    np.testing.assert_allclose(residual_squares(np.array([A.T @ A for A in tables]), 50), plain, rtol=1e-6)
    nothing = np.diag([1.0, -1.0, 1.0, 3.0])[None]  # what rounding makes of columns that are all but equal
    np.testing.assert_array_equal(residual_squares(nothing * [[[1e30], [1e30], [1], [1]]], 50), [3.0])


def test_the_compiled_threshold_is_the_plain_one():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.round(rng.normal(size=300)), rng.normal(size=(300, 2))])
    A = np.column_stack([X, np.ones(300), X.sum(axis=1) + 2 * (X[:, 1] > 0.3) * X[:, 2] + rng.normal(size=300)])
    views = np.ascontiguousarray(X.T)
    orders = np.argsort(views, axis=1)
    best = (np.inf, -1, 0)
    for at, view in enumerate(views):
        for cut in np.sort(view)[np.arange(1, rivals.STEPS) * 300 // rivals.STEPS]:
            sides = [A[view < cut], A[view >= cut]]
            if min(map(len, sides)) >= 8:
                left = [np.linalg.lstsq(side[:, :-1], side[:, -1])[1][0] / len(side) for side in sides]
                lost = sum(len(side) * np.log(square) for side, square in zip(sides, left, strict=True))
                best = min(best, (lost, at, len(sides[0])))
    assert rivals._best_threshold(A, views, orders) == best[1:]


def plain_one_line(A, b, fan):
    """What `OneLine` computes, as one reads it: coefficients, slope of the variance and log likelihood."""
    D, y, slope = A[:, :-1], A[:, -1], 0.0
    for _ in range(3):
        r, v = y - D @ b, np.ones(len(y))
        if fan is not None:
            o = D @ b - np.median(D @ b) if isinstance(fan, str) else D @ fan
            o2 = o**2 / np.mean(o**2)
            for _ in range(4):
                q = np.minimum(r * r, 9 * v) if slope else r * r
                mo, mq = np.average(o2, weights=v**-2.0), np.average(q, weights=v**-2.0)
                slope = max(np.sum((o2 - mo) * q / v**2) / np.sum((o2 - mo) * o2 / v**2), 0.0)
                level = max(mq - slope * mo, 1e-2 * mq)
                slope /= level
                v = level * (1 + slope * o2)
            v = 1 + slope * o2
        ll, nu, s = t_noise(r / np.sqrt(v), np.ones(len(y)))
        w = (1.0 if np.isinf(nu) else (nu + 1) / (nu + r**2 / (s * s * v))) / v
        b = np.linalg.lstsq(D * np.sqrt(w)[:, None], y * np.sqrt(w))[0]
    return b, slope, ll - 0.5 * np.log(v).sum()


@pytest.mark.parametrize("fan", [None, "fit", np.array([1.0, 0.0, -1.0, 0.5])], ids=["none", "fit", "direction"])
def test_the_compiled_line_is_the_plain_one(fan):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X @ COEF + rng.standard_t(4, 400) * np.exp(0.4 * X @ COEF)
    A = np.column_stack([X, np.ones(400), y])
    start = fit_weighted(A)[0]
    fast, (b, slope, ll) = OneLine(A, start, fan), plain_one_line(A, start, fan)
    np.testing.assert_allclose(fast.b[:-1], b, rtol=1e-6)
    np.testing.assert_allclose([fast.slope, fast.ll], [slope, ll], rtol=1e-6)


def test_a_large_table_with_another_line_is_judged_by_models_of_more_rows_in_any_order():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 3))
    y = X @ [1.0, 2.0, -1.0] + rng.normal(size=len(X))
    bad = rng.permutation(len(X))[:6000]
    y[bad] = -y[bad]
    line, order = majority_line(X, y), rng.permutation(len(X))
    np.testing.assert_allclose(majority_line(X[order], y[order]).weights, line.weights[order], atol=1e-6)
    coef = np.linalg.lstsq(X * line.weights[:, None] ** 0.5, y * line.weights**0.5, rcond=None)[0]
    assert np.abs(coef - [1.0, 2.0, -1.0]).max() < 0.05
    assert not np.all((line.weights == 0) | (line.weights == 1))


@pytest.mark.parametrize(("rows", "columns", "bad"), [(20, 2, 4), (21, 5, 4), (40, 3, 6)])
def test_a_few_rows_far_off_in_a_small_table_are_left_out(rows, columns, bad):
    found = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(rows, columns))
        y = X.sum(axis=1) + rng.normal(size=rows) + 3
        y[:bad] += 20 * rng.choice([-1, 1], bad) * rng.uniform(1, 2, bad)
        left = ~majority_line(X, y).believed
        found += left[:bad].all() and left.sum() <= bad + 1
    assert found >= 8


@pytest.mark.parametrize("noise", ["normal", "t3", "exponential", "uneven", "bend"])
def test_honest_small_tables_are_whole(noise):
    left = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, p = ((20, 1), (20, 5), (30, 2), (60, 3))[seed % 4]
        X = rng.normal(size=(n, p))
        e = {"t3": rng.standard_t(3, n), "exponential": rng.exponential(size=n)}.get(noise, rng.normal(size=n))
        e = e * np.abs(X[:, 0]) if noise == "uneven" else e + 2 * X[:, 0] ** 2 if noise == "bend" else e
        left += not majority_line(X, X.sum(axis=1) + e).believed.all()
    assert left == 0


@pytest.mark.parametrize("place", [-1.5, 0.3, 1.0])
@pytest.mark.parametrize("slope", [30.0, 100.0, 1000.0])
def test_two_arms_of_a_bend_are_one_curve_however_strong(place, slope):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 2))
    y = slope * np.abs(X[:, 0] - place) + X[:, 1] + rng.normal(size=1000)
    assert line_of(X, y).believed.all()


@pytest.mark.parametrize("seed", range(4))
def test_what_bends_and_spreads_at_once_is_one_curve(seed):
    """Sales and assets: heavy tails in x, a product, and noise in proportion."""
    rng = np.random.default_rng(seed)
    X = np.exp(rng.normal(size=(1000, 2)))
    y = X[:, 0] * np.sqrt(X[:, 1]) * np.exp(0.5 * rng.normal(size=1000))
    assert line_of(X, y).believed.all()
    # The same with a tenth of the targets in another unit has a group beyond a gap.
    y = 1 + X @ [1.0, 0.5] * (1 + 0.1 * rng.normal(size=1000))
    y[:100] *= 100
    assert not line_of(X, y).believed[:100].any()


def test_the_knot_of_a_hinge_is_found_between_the_rows():
    rng = np.random.default_rng(0)
    x = np.sort(rng.normal(size=300))
    for knot in (0.3, (x[200] + x[201]) / 2):
        r = 1e3 * np.maximum(x - knot, 0)
        B = np.linalg.qr(np.column_stack([np.ones(300), x]))[0].T
        r -= (B @ r) @ B
        t = rivals._refined_hinge(x, np.ones(300), -1.0, 1.0, B, r + 1e-3 * rng.normal(size=300))
        assert r @ r - (t @ r) ** 2 / (t @ t) < 1e-5  # ten times the square of the noise: a knot takes one


@pytest.mark.parametrize("share", [0.2, 0.3, 0.36, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_two_groups_on_opposite_sides_go(share, seed):
    rng = np.random.default_rng(seed)
    X, half = design(rng), int(share * ROWS / 2)
    y = rng.normal(size=ROWS)
    y[:half] += 12
    y[half : 2 * half] -= 9
    np.testing.assert_array_equal(line_of(X, y).believed, np.arange(ROWS) >= 2 * half)


SKEWED = {"exponential": lambda rng: rng.exponential(size=2000), "log-normal": lambda rng: rng.lognormal(size=2000)}


@pytest.mark.parametrize("noise", SKEWED)
@pytest.mark.parametrize(("width", "share"), [(100, 0.05), (30, 0.1), (10, 0.2)])
def test_garbage_to_both_sides_of_skewed_noise_goes_on_both(noise, width, share):
    lost = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(2000, 2))
        y = X.sum(axis=1) + SKEWED[noise](rng)
        bad = np.arange(2000) < share * 2000
        y[bad] = width * rng.normal(size=bad.sum())
        best = fitted(X[~bad], y[~bad])
        line = line_of(X, y)
        lost.append([np.linalg.norm(fitted(X, y, weights) - best) for weights in (line.weights, None)])
    ours, plain = np.mean(lost, axis=0)
    assert ours < 0.7 * plain


def test_the_other_side_is_cut_only_where_as_many_rows_lie():
    rng = np.random.default_rng(0)
    r, gap = rng.exponential(size=1000) - 0.1, line.Gap(9.0, -1.0, np.inf)
    far = rng.uniform(5, 50, 40)
    assert line.mirrored(np.append(r, -far), gap) == gap
    either = line.mirrored(np.concatenate([r, -far, far]), gap)
    assert 3 < either.high < 9
    other = line.mirrored(-np.concatenate([r, -far, far]), line.Gap(9.0, -np.inf, 1.0))
    assert (-other.high, -other.low) == (either.low, either.high)


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_zeros_inside_a_continuous_column_are_filled_in_where_rows_do_not_follow_the_line(share):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=2000), rng.random(2000) < 0.3, rng.poisson(1.5, 2000)])
    y = X @ [8.0, 8.0, 5.0] + rng.standard_t(3, 2000)
    zeroed = np.arange(2000) < share * 2000
    X[zeroed] = 0.0
    line = majority_line(X, y)
    assert not line.believed[zeroed].any()
    assert line.believed[~zeroed].mean() > 0.97


def test_one_smallest_target_is_no_limit_that_many_reach():
    """Of 18 targets each is more than a twentieth."""
    y = np.append(np.arange(17.0), 3.0)
    assert not attached_atom(y, np.nan)
    assert attached_atom(np.append(y, [0.0, 0.0, 0.0]), np.nan)


def test_rounded_rows_with_many_copies_keep_their_voices():
    """Heights of parents and children in whole inches, and a fifth of the rows far off: no two of these are equal."""
    rng = np.random.default_rng(0)
    parents = np.round(68 + 1.8 * rng.normal(size=800))
    children = np.round(68 + 0.6 * (parents - 68) + 2.2 * rng.normal(size=800))
    bad = rng.random(800) < 0.2
    parents[bad], children[bad] = 90 + rng.normal(size=(2, bad.sum())) * 0.2 - [[0.0], [45.0]]
    np.testing.assert_array_equal(majority_line(parents[:, None], children).believed, ~bad)
