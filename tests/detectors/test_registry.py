"""Detectors by name: imported on first use, and a wrong name suggests the right one."""

from __future__ import annotations

import subprocess
import sys

import pytest

import hopsight
from hopsight.detectors import DETECTORS, get_detector
from hopsight.detectors.base import Detector


def test_every_name_leads_to_a_detector_and_back() -> None:
    for name, kind in DETECTORS.items():
        assert issubclass(kind, Detector) and kind.__doc__
        assert get_detector(name) is kind and get_detector(kind.__name__) is kind
        assert kind.__name__.lower() == name.replace("_", "")


def test_detectors_are_public_names() -> None:
    for kind in DETECTORS.values():
        assert getattr(hopsight, kind.__name__) is kind


def test_the_published_methods_have_their_names() -> None:
    assert {"hcm", "cross_hcm", "lof", "amen", "radar", "anomalous", "dominant", "madan", "resgcn"} <= set(DETECTORS)
    assert len(DETECTORS) == len(list(DETECTORS))


def test_wrong_names() -> None:
    with pytest.raises(ValueError, match=r"detector must be one of .*, got 'dominat'; did you mean dominant\?"):
        get_detector("dominat")
    with pytest.raises(ValueError, match=r"got 'cross-hcm'; did you mean cross_hcm\?"):
        get_detector("cross-hcm")
    with pytest.raises(KeyError):
        DETECTORS["random"]
    assert "random" not in DETECTORS


def test_listing_names_loads_no_model() -> None:
    """Listing names does not import torch, which takes seconds."""
    code = "import sys; from hopsight.detectors import DETECTORS; list(DETECTORS); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
