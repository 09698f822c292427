"""Answers what Beagle asks of other programs, as JSON on standard input and output.

It needs statsforecast, statsmodels, pmdarima and apache-otava; the command says how to install them.
"""
import json
import sys
import warnings

import numpy as np

warnings.filterwarnings("ignore")


def published():
    """Series that packages ship, with the length of their season."""
    import statsmodels.api as sm
    from pmdarima.datasets import load_ausbeer, load_taylor
    from statsforecast.utils import AirPassengersDF

    macro = sm.datasets.macrodata.load_pandas().data
    months = sm.datasets.elnino.load_pandas().data.drop(columns="YEAR").to_numpy().ravel()
    co2 = sm.datasets.co2.load_pandas().data["co2"].resample("MS").mean().interpolate()
    demand = load_taylor().reshape(-1, 2).mean(axis=1)[-4 * 7 * 24:]  # of half an hour each
    beer = load_ausbeer()
    out = {
        "air passengers, monthly": (12, AirPassengersDF["y"]),
        "carbon dioxide, monthly": (12, co2),
        "El Nino, monthly": (12, months),
        "sunspots, yearly": (11, sm.datasets.sunspots.load_pandas().data["SUNACTIVITY"]),
        "electricity in England, hourly, four weeks": (24, demand),
        "beer in Australia, quarterly": (4, beer[~np.isnan(beer)]),
        "US output, quarterly": (4, macro["realgdp"]),
        "US investment, quarterly": (4, macro["realinv"]),
        "US prices, quarterly": (4, macro["cpi"]),
        "US unemployment, quarterly": (4, macro["unemp"]),
    }
    return [{"name": k, "season": s, "series": [float(x) for x in v]} for k, (s, v) in out.items()]


def forecasts(tasks):
    """Forecasts of each series from each origin, by two models of statsforecast."""
    from statsforecast.models import AutoETS, SeasonalNaive

    out = []
    for t in tasks:
        rows = {"seasonal_naive": [], "auto_ets": []}
        for at in t["origins"]:
            y = np.array(t["series"][:at])
            for name, m in (("seasonal_naive", SeasonalNaive(t["season"])), ("auto_ets", AutoETS(t["season"]))):
                rows[name].append([float(x) for x in m.forecast(y, h=t["horizon"])["mean"]])
        out.append(rows)
    return out


def changes(tasks):
    """Change points of otava in each series."""
    from otava.analysis import compute_change_points

    out = []
    for t in tasks:
        found, _ = compute_change_points(list(t["series"]), window_len=t["window"], max_pvalue=t["p"],
                                         min_magnitude=t["least"])
        out.append([int(c.index) for c in found])
    return out


asked = json.load(sys.stdin)
verbs = {"published": lambda _: published(), "forecasts": forecasts, "changes": changes}
json.dump(verbs[asked["verb"]](asked["tasks"]), sys.stdout)
