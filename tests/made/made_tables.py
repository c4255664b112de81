"""Made tables: mixed columns, and patients as a hospital would send them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dagopt.data.columns import columns_from_frame
from dagopt.data.mixed import MixedTable


def mixed_frame(seed, n=5, rows=150):
    """Return columns of both kinds, each depending on some of those before it."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(index=range(rows))
    drive = np.zeros((rows, 0))
    for j in range(n):
        effect = drive @ rng.normal(size=drive.shape[1]) * (0.8 if j else 0) + rng.normal(size=rows)
        if j % 2:
            cuts = np.quantile(effect, np.sort(rng.uniform(0.25, 0.75, rng.integers(1, 3))))
            frame[f"V{j}"] = np.array(["low", "mid", "top"], dtype=object)[np.searchsorted(cuts, effect)]
        else:
            frame[f"V{j}"] = effect * rng.uniform(0.1, 10) + rng.normal() * 50
        drive = np.column_stack([drive, effect])
    return frame


def mixed_table(seed, n=5, rows=150):
    """Return the table of such columns."""
    return MixedTable(tuple(columns_from_frame(mixed_frame(seed, n, rows))))


def patients(rows=1000, seed=0, missing=0.05):
    """Return patients: age in whole years, sex, BMI, smoker, blood pressure of which some cells are missing."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 85, rows)
    sex = rng.choice(["female", "male"], rows)
    smoker = rng.random(rows) < np.where(sex == "male", 0.35, 0.2)
    bmi = np.round(22 + 0.08 * age + 1.5 * (sex == "male") + rng.normal(0, 3, rows), 1)
    pressure = np.round(80 + 0.5 * age + 1.2 * (bmi - 25) + 6 * smoker + rng.normal(0, 8, rows))
    pressure[rng.random(rows) < missing] = np.nan
    return pd.DataFrame({"age": age, "sex": sex, "bmi": bmi, "smoker": smoker, "pressure": pressure})
