"""Writes small random models of Toto 2.0, and what the reference implementation forecasts with them.

Each directory gets config.json, model.safetensors and cases.json. README.md says how to run this.
"""
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from gluonts.dataset.common import ListDataset
from safetensors.torch import save_file
from toto2 import Toto2GluonTSModel, Toto2GluonTSModelConfig, Toto2Model, Toto2ModelConfig
from toto2.model import ffill_imputation

warnings.filterwarnings("ignore")
torch.manual_seed(2026)
rng = np.random.default_rng(2026)

# A small copy of the settings of the model of 4M parameters, and two that take the other turns.
SMALL = {
    "published": (torch.float32, 8.0, dict(
        patch_size=8, d_model=16, num_heads=2, num_layers=4, layer_group_size=4, num_variate_layers_per_group=1,
        variate_layer_first=False, norm_eps=1e-4, attn_bias=True, qk_norm=False, per_dim_scale=True, use_xpos=True,
        residual_mult=0.75, residual_attn_ratio=Toto2ModelConfig.compute_residual_attn_ratio(4096, 32))),
    "grouped": (torch.bfloat16, 8.0, dict(
        patch_size=8, d_model=16, num_heads=4, num_groups=2, qk_dim=8, v_dim=6, num_layers=4, layer_group_size=2,
        num_variate_layers_per_group=1, variate_layer_first=True, attn_bias=True, mlp_bias=True, qk_norm=True,
        norm_include_weight=True, residual_attn_ratio=1.5)),
    "steep": (torch.float16, 60.0, dict(
        patch_size=4, d_model=16, num_heads=2, d_ff=24, num_layers=6, layer_group_size=3,
        num_variate_layers_per_group=2, variate_layer_first=False, qk_norm=True, per_dim_scale=True,
        residual_attn_ratio=0.5)),
}
FULL = (torch.float32, 8.0, dict(SMALL["published"][2], patch_size=32, d_model=256, num_heads=4))


def random_model(dtype, steep, settings, to):
    """Saves a model with random weights, and returns it as the reference reads it."""
    config = Toto2ModelConfig(**settings)
    model = Toto2Model(config)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.endswith("bias") or "per_dim_scale" in name:
                p.copy_(torch.randn_like(p))
            elif p.dim() == 1:
                p.copy_(1 + 0.3 * torch.randn_like(p))
            elif "proj.linear2" in name or "proj.skip_proj" in name:
                p.copy_(steep * torch.randn_like(p) if name.startswith("output_head") else torch.randn_like(p))
            else:
                p.copy_(torch.randn_like(p))
    to.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(to)
    (to / "README.md").unlink(missing_ok=True)
    save_file({k: v.to(dtype).contiguous() for k, v in model.state_dict().items()}, to / "model.safetensors",
              metadata={"format": "pt"})
    (to / "model.safetensors").chmod(0o644)
    return Toto2Model.from_pretrained(str(to)).eval()


def drawn(n, season, trend, noise, level):
    t = np.arange(n)
    return level + trend * t + 3 * noise * np.sin(2 * np.pi * t / season) + rng.normal(0, noise, n)


def cases(context, patch):
    """Series with what is hard about them: gaps, groups, sizes, and more values than are looked at."""
    wave = drawn(80, 24, 0.1, 2, 50)
    holes = drawn(75, 12, 0, 1, 10)
    holes[rng.random(75) < 0.2] = np.nan
    holes[30:50] = np.nan
    late = drawn(60, 12, 0, 1, 0)
    late[:21] = np.nan
    three = np.stack([drawn(50, 10, 0, 1, 5), drawn(50, 7, 1, 4, 100), drawn(50, 20, 0, 0.01, 0.2)])
    patchy = np.stack([drawn(40, 10, 0, 1, 5), drawn(40, 7, 0, 1, 5), drawn(40, 9, 0, 1, 5)])
    patchy[1, :17] = np.nan
    patchy[2, 9:26] = np.nan
    return [
        dict(name="wave", values=[wave], horizon=20),
        dict(name="not a whole patch", values=[wave[:45]], horizon=3),
        dict(name="gaps", values=[holes], horizon=16),
        dict(name="nothing at first", values=[late], horizon=9),
        dict(name="hardly longer than a patch", values=[wave[:patch + 3]], horizon=24),
        dict(name="constant", values=[np.full(48, 7.5)], horizon=10),
        dict(name="zero", values=[np.zeros(48)], horizon=10),
        dict(name="large", values=[drawn(64, 16, 1e9, 1e10, 1e12)], horizon=10),
        dict(name="small", values=[drawn(64, 16, 0, 1e-7, 1e-6)], horizon=10),
        dict(name="a step", values=[np.concatenate([np.zeros(40), np.full(24, 1000.0)])], horizon=10),
        dict(name="a long series", values=[drawn(300, 24, 0.1, 2, 50)], horizon=20, context=context),
        dict(name="three variates", values=three, horizon=12),
        dict(name="three variates, gaps", values=patchy, horizon=12),
        dict(name="groups", values=patchy, horizon=12, groups=[0, 1, 0]),
    ]


def by_predictor(model, c, context):
    """What the wrapper for GluonTS answers: it pads, fills gaps and cuts the context."""
    values = np.array(c["values"], dtype=np.float32)
    one = len(values) == 1
    config = Toto2GluonTSModelConfig(prediction_length=c["horizon"], context_length=context, target_dim=len(values))
    predictor = Toto2GluonTSModel(model, config).eval().create_predictor(batch_size=1, device="cpu")
    data = ListDataset([{"start": "2026-01-01", "target": values[0] if one else values}], freq="h",
                       one_dim_target=one)
    f = next(iter(predictor.predict(data))).forecast_array  # by quantile, variate and step
    return f[:, None, :] if one else f


def by_forecast(model, c):
    """What the model answers to series of several groups, which the wrapper has not."""
    values = np.array(c["values"], dtype=np.float32)
    patch = model.config.patch_size
    seen = ~np.isnan(values)
    pad = -values.shape[1] % patch
    target = np.pad(ffill_imputation(values), ((0, 0), (pad, 0)))
    mask = np.pad(seen, ((0, 0), (pad, 0)))
    q = model.forecast(
        dict(target=torch.tensor(target)[None], target_mask=torch.tensor(mask)[None],
             series_ids=torch.tensor(c["groups"])[None]),
        c["horizon"], scaler_fallback_min_obs=8, quantile_real_cap_k=1e4)
    return q[:, 0].numpy()


def plain(values, digits):
    return [[None if np.isnan(x) else float(f"{x:.{digits}g}") for x in row] for row in values]


def export(to, dtype, steep, settings, context):
    model = random_model(dtype, steep, settings, to)
    out = []
    for c in cases(context, model.config.patch_size):
        c["values"] = plain(c["values"], 6)
        wide = c.get("context", 2048)
        q = by_forecast(model, c) if "groups" in c else by_predictor(model, c, wide)
        assert q.shape == (9, len(c["values"]), c["horizon"]) and np.isfinite(q).all(), (c["name"], q.shape)
        out.append(dict(c, quantiles=[plain(rows, 8) for rows in q]))
    lines = ",\n".join(json.dumps(c) for c in out)
    (to / "cases.json").write_text("[\n" + lines + "\n]\n")


if len(sys.argv) == 3 and sys.argv[1] == "full":  # the size of the published model, for a check by hand
    export(Path(sys.argv[2]), *FULL, context=256)
else:
    for name, (dtype, steep, settings) in SMALL.items():
        export(Path(__file__).parent.parent / name, dtype, steep, settings, context=64)
