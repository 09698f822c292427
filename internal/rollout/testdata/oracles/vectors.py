"""Prints what gbstats and scipy say, for the tests of package rollout."""
import json

import numpy as np
from gbstats.frequentist.tests import SequentialConfig, SequentialTwoSidedTTest
from gbstats.models.statistics import SampleMeanStatistic
from gbstats.utils import check_srm
from scipy import special, stats


def sequence(n, mean, sd, alpha, tuning):
    """The sequence for two arms of n/2 units, whose difference has variance 4 sd^2 / n."""
    half = n // 2
    arms = [
        SampleMeanStatistic(n=half, sum=m * half, sum_squares=sd * sd * (half - 1) + m * m * half)
        for m in (1.0, 1.0 + mean)
    ]
    test = SequentialTwoSidedTTest(
        arms[0],
        arms[1],
        SequentialConfig(alpha=alpha, sequential_tuning_parameter=tuning, difference_type="absolute"),
    )
    low, high = test.confidence_interval
    return {
        "n": n, "mean": mean, "variance": float(test.variance * n), "alpha": alpha, "tuning": tuning,
        "rho": float(test.rho), "half": float(high - low) / 2, "p": float(test.p_value),
    }


def mismatch(counts, weights, prior):
    """The logarithm of the Dirichlet-multinomial Bayes factor against the planned ratio."""
    share = np.array(weights) / sum(weights)
    mixture = stats.dirichlet_multinomial.logpmf(counts, prior * share, sum(counts))
    return float(mixture - stats.multinomial.logpmf(counts, sum(counts), share))


ratios = [
    ([1000, 1000], [1, 1]), ([1000, 1100], [1, 1]), ([10, 25], [1, 1]), ([500, 260, 240], [2, 1, 1]),
    ([5000, 4700, 5100], [1, 1, 1]), ([95, 5], [0.95, 0.05]), ([9300, 700], [0.95, 0.05]),
]
print(json.dumps({
    "sequence": [
        sequence(n, mean, sd, alpha, tuning)
        for n in (20, 200, 2000, 50000)
        for mean, sd in ((0.0, 1.0), (0.02, 0.3), (-0.3, 2.5))
        for alpha, tuning in ((0.05, 5000), (0.01, 300))
    ],
    "ratio": [
        {"counts": c, "weights": w, "p": float(check_srm(c, w)), "log_e": mismatch(c, w, 100)} for c, w in ratios
    ],
    "student": [
        {"t": t, "freedom": f, "p": float(stats.t.cdf(t, f))}
        for t in (-8.0, -2.3, -0.4, 0.0, 1.1, 6.0) for f in (2.0, 7.3, 40.0)
    ],
    "signs": [
        {"worse": a, "better": b, "log_e": float(special.betaln(a + 1, b + 1) + (a + b) * np.log(2))}
        for a, b in ((0, 0), (10, 0), (60, 40), (0, 12), (5000, 4900))
    ],
}, indent=1))
