"""Settings out of their range are refused in one sentence, by every detector in the same words."""

from typing import Any

import pytest

from toys import quick, refuses, two_groups

HOP_MODEL = [
    ({"n_units": 0}, "n_units must be at least 1, got 0"), ({"mlp_units": -3}, "mlp_units must be at least 1, got -3"),
    ({"n_epochs": 0, "burn_in": 0}, "n_epochs must be at least 1, got 0"),
    ({"burn_in": 30, "n_epochs": 30}, "burn_in must be less than n_epochs, got burn_in 30 and n_epochs 30"),
    ({"n_samples": 0}, "n_samples must be at least 1, got 0"),
    ({"n_classes": 1}, "n_classes must be at least 2, got 1"),
    ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
    ({"drop_ratio": 1.0}, "drop_ratio must be at least 0 and below 1, got 1.0"),
    ({"sampling_ratio": 0.0}, "sampling_ratio must be above 0, got 0.0"),
    ({"sampling_ratio": 1.1}, "sampling_ratio must be"), ({"max_pairs": 1}, "max_pairs must be at least 2, got 1"),
    ({"min_class_pairs": 0}, "min_class_pairs must be at least 1, got 0"),
    ({"lr": 0.0}, "lr must be above 0, got 0.0"), ({"lr_decay": -1.0}, "lr_decay must be 0 or more"),
    ({"temperature": -1.0}, "temperature must be 0 or more"),
    ({"optimizer": "adm"}, "optimizer must be one of .* did you mean adam"),
    ({"prediction": "mode"}, "prediction must be one of argmax, expected"),
    ({"deviation": "iqr"}, "deviation must be one of variance, std"), ({"score": "auc"}, "score must be one of"),
    ({"similarity": "dice"}, "similarity must be one of"), ({"scaling": "log"}, "scaling must be one of"),
    ({"n_components": 0}, "n_components must be at least 1, got 0"),
    ({"device": "gpu"}, "device must be one of auto, cpu, cuda"),
]  # fmt: skip
REFUSED: dict[str, list[tuple[dict[str, Any], str]]] = {
    "hcm": [*HOP_MODEL, ({"n_layers": 0}, "n_layers must be at least 1, got 0")],
    "cross_hcm": [
        *HOP_MODEL, ({"n_folds": 1}, "n_folds must be at least 2, got 1"),
        ({"n_inner": 1}, "n_inner must be at least 2, got 1"), ({"precision": "half"}, "precision must be one of"),
        ({"evidence": ()}, "evidence must be a tuple of kinds"),
        ({"evidence": "ring"}, "evidence must be a tuple of kinds .* got 'ring'"),
        ({"evidence": ("ring", "rings")}, r"evidence must be one of .* did you mean ring\?"),
        ({"score": "cross"}, "score must be one of evidence, hav, ahp"),
    ],
    "dominant": [
        ({"encoder_units": ()}, "encoder_units must name at least one width"),
        ({"structure_units": (0,)}, "structure_units must be at least 1, got 0"),
        ({"attribute_weight": 1.5}, "attribute_weight must be at least 0"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"n_epochs": 0}, "n_epochs must be at least 1, got 0"), ({"lr": 0.0}, "lr must be above 0, got 0.0"),
        ({"initial": "zeros"}, "initial must be one of glorot, uniform"),
        ({"final_activation": "tanh"}, "final_activation must be one of relu, none"),
    ],
    "resgcn": [
        ({"encoder_units": ()}, "encoder_units must name at least one width"),
        ({"residual_units": (64, 0)}, "residual_units must be at least 1, got 0"),
        ({"attribute_weight": -0.1}, "attribute_weight must be at least 0"),
        ({"gamma": -1.0}, "gamma must be 0 or more, got -1.0"),
        ({"residual_share": -1.0}, "residual_share must be 0 or more"), ({"max_norm": 0.0}, "max_norm must be above 0"),
        ({"n_rows": "some"}, "n_rows must be a whole number or 'auto'"),
        ({"n_epochs": 0}, "n_epochs must be at least 1, got 0"),
    ],
    "amen": [({name: word}, f"{name} must be one of") for name, word in (
        ("norm", "l3"), ("boundary_sim", "cosine"), ("scaling", "standard"))],
    "anomalous": [
        ({"alpha": 0.0}, "alpha must be above 0"), ({"phi": -0.1}, "phi must be 0 or more"),
        ({"n_rounds": 2.5}, "n_rounds must be a whole number"),
    ],
    "radar": [
        ({"alpha": 0.0}, "alpha must be above 0"), ({"beta": -1.0}, "beta must be 0 or more"),
        ({"gamma": float("nan")}, "gamma must be a finite number"), ({"n_rounds": 0}, "n_rounds must be at least 1"),
        ({"scaling": "colunm"}, "did you mean column"), ({"max_rank": 0}, "max_rank must be at least 1"),
    ],
    "madan": [
        ({"t": "oracle"}, "t must be one of multi, got 'oracle'"), ({"t": -1.0}, "t must be 0 or more, got -1.0"),
        ({"sigma": -0.1}, "sigma must be 0 or more"), ({"isolated": "zero"}, "isolated must be one of heat, median"),
        ({"time_limit": 0.0}, "time_limit must be above 0"),
    ],
    "lof": [({"n_neighbors": number}, "n_neighbors must be") for number in (0, 2.5, True)],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "setting", "message"), [(name, *case) for name, cases in REFUSED.items() for case in cases]
)
def test_bad_settings_are_refused(name: str, setting: dict[str, Any], message: str) -> None:
    refuses(message, quick(name, **setting).fit, two_groups(0))
