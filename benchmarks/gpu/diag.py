import time, cProfile, pstats, io
import cupy as cp, numpy as np
from robustream.kernels.gpu import pairs, device
from robustream.kernels.gpu.plan import plan_of

f32 = np.float32
X = cp.random.standard_normal((1_000_000, 100), dtype=f32)
orig = pairs.kept_sums_by_digits


def spy(l, r, k, m):
    print("   failed", len(m))
    return orig(l, r, k, m)


for n in (10_000, 100_000, 1_000_000):
    x = X[:n]
    kept = n - int(0.2 * n)
    pl = plan_of(n, 100, 100, True)
    limits = cp.empty((4, 100, 100), f32)
    pairs._find_brackets(pl, x, x, kept, limits, cp.zeros((2, 100, 100), np.int32))
    rng = np.random.default_rng(0)
    out = []
    for _ in range(60):
        i, j = sorted(rng.choice(100, 2, replace=False))
        q = cp.sort(cp.abs(x[:, i] * x[:, j]))
        t = float(q[kept - 1])
        th, sl, lo, hi = (float(limits[a, i, j]) for a in range(4))
        F = lambda v: float((q < cp.float32(v)).sum()) / n
        true = (float(q[min(n - 1, kept + n // 100)]) - float(q[kept - n // 100])) / 0.02
        out.append(((F(th) - 0.8), sl / true, lo <= t < hi, (F(hi) - F(lo)) * n))
    o = np.array(out, float)
    print(
        n,
        "e sd",
        o[:, 0].std(),
        "slope ratio",
        o[:, 1].mean(),
        o[:, 1].std(),
        "ok",
        o[:, 2].mean(),
        "inside",
        o[:, 3].mean(),
        o[:, 3].max(),
        "cap",
        pl.capacity(kept),
        "grid",
        pl.grid(),
    )
    pairs.kept_sums_by_digits = spy
    pairs.trimmed_covariance(x, 0.2)
    pairs.kept_sums_by_digits = orig
x = X[:10_000]
for _ in range(3):
    pairs.trimmed_covariance(x, 0.2)
t = time.perf_counter()
for _ in range(50):
    pairs.trimmed_covariance(x, 0.2)
print("per call us", (time.perf_counter() - t) / 50 * 1e6)
pr = cProfile.Profile()
pr.enable()
for _ in range(50):
    pairs.trimmed_covariance(x, 0.2)
pr.disable()
s = io.StringIO()
pstats.Stats(pr, stream=s).sort_stats("tottime").print_stats(22)
print(s.getvalue()[:3500])
