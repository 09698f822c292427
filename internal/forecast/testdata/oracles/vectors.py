"""Prints what statsforecast and statsmodels say, for the tests of package forecast.

The series are our own: drawn here, by the seed.
"""
import json
import warnings

import numpy as np
from statsforecast.models import SeasonalNaive
from statsmodels.tsa.holtwinters import ExponentialSmoothing

warnings.simplefilter("ignore")
rng = np.random.default_rng(2026)


def drawn(n, season, trend):
    t = np.arange(n)
    x = 100 + trend * t + 15 * np.sin(2 * np.pi * t / season) + rng.normal(0, 3, n)
    return [round(float(v), 6) for v in x]


naive, smooth = [], []
for n, season, trend in ((48, 12, 0.0), (70, 7, 0.5), (96, 24, -0.2), (200, 24, 0.1)):
    x = drawn(n, season, trend)
    f = SeasonalNaive(season_length=season).forecast(np.array(x), h=season + 3)
    naive.append({"series": x, "season": season, "mean": [float(v) for v in f["mean"]]})
    for alpha, beta, gamma, phi in ((0.3, 0.1, 0.2, 0.9), (0.6, 0.02, 0.1, 0.98)):
        # Level, trend and season start as in package forecast: see initial.
        first = np.array(x[:season])
        level = float(first.mean())
        slope = float((np.mean(x[season : 2 * season]) - level) / season)
        model = ExponentialSmoothing(
            np.array(x), trend="add", damped_trend=True, seasonal="add", seasonal_periods=season,
            initialization_method="known", initial_level=level, initial_trend=slope,
            initial_seasonal=first - level,
        )
        fit = model.fit(
            smoothing_level=alpha, smoothing_trend=beta, smoothing_seasonal=gamma, damping_trend=phi, optimized=False
        )
        smooth.append({
            "series": x, "season": season, "alpha": alpha, "beta": beta, "gamma": gamma, "phi": phi,
            # statsmodels takes step number `season` from before the last update of the season.
            "mean": [float(v) for v in fit.forecast(season - 1)], "sse": float(fit.sse),
        })
print(json.dumps({"naive": naive, "smooth": smooth}))
