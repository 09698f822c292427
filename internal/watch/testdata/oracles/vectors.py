"""Prints what apache-otava, statsmodels and scipy say, for the tests of package watch.

The series are our own: drawn here, by the seed.
"""
import json

import numpy as np
from otava.analysis import TTestSignificanceTester, compute_change_points, split
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep

rng = np.random.default_rng(18)


def drawn(i):
    n = int(rng.integers(12, 160))
    x = rng.normal(100, 3, n)
    if i % 3 == 1:
        x = 100 + 3 * rng.standard_t(3, n)
    if i % 3 == 2:
        x = rng.gamma(4, 25, n)
    for _ in range(int(rng.integers(0, 4))):
        at = int(rng.integers(1, n))
        x[at:] *= float(rng.uniform(0.85, 1.2))
    return [round(float(v), 6) for v in x]


def points(found):
    return [{"index": int(c.index), "p": float(c.stats.pvalue)} for c in found]


def change(series, window, p, least):
    """The first pass and the result of otava.

    When otava merges a point away it leaves the p-value of the point before as it was. The result is
    called stale where a p-value is not that of its neighbours any more: then it says nothing to us.
    """
    found, _ = compute_change_points(list(series), window_len=window, max_pvalue=p, min_magnitude=least)
    tester = TTestSignificanceTester(p)
    z = np.array(series)
    pieces = tester.get_intervals(found)
    fresh = [tester.change_point(c.to_candidate(), z, pieces) for c in found]
    stale = any(abs(f.stats.pvalue - c.stats.pvalue) > 1e-12 for f, c in zip(fresh, found))
    return {
        "series": series, "window": window, "p": p, "least": least,
        "weak": points(split(list(series), window, 10 * p)), "points": points(found), "stale": stale,
    }


changes = []
for i in range(60):
    s = drawn(i)
    for window, p, least in ((50, 0.001, 0.0), (30, 0.01, 0.05)):
        changes.append(change(s, window, p, least))

intervals = []
for a, n, b, m in ((30, 1000, 60, 1000), (0, 500, 9, 400), (5000, 60000, 5300, 60000), (1, 20, 0, 30)):
    low, high = confint_proportions_2indep(b, m, a, n, method="newcomb", compare="diff", alpha=0.05)
    intervals.append({"a": a, "n": n, "b": b, "m": m, "low": float(low), "high": float(high)})

adjusted = []
for p in ([0.01, 0.04, 0.03, 0.5], [0.2], [0.001, 0.001, 0.9, 0.02, 0.02], list(map(float, rng.uniform(0, 1, 12)))):
    adjusted.append({"p": p, "q": [float(q) for q in multipletests(p, method="fdr_bh")[1]]})

drift = []
for want, got in (([50, 30, 20], [510, 290, 200]), ([50, 30, 20], [300, 400, 300]), ([1, 1, 1, 1], [30, 20, 25, 25])):
    want, got = np.array(want, float), np.array(got, float)
    e, o = want / want.sum(), got / got.sum()
    statistic, p = stats.chisquare(got, e * got.sum())
    drift.append({"want": list(want), "got": list(got), "psi": float(((o - e) * np.log(o / e)).sum()), "p": float(p)})

print(json.dumps({"changes": changes, "intervals": intervals, "adjusted": adjusted, "drift": drift}))
