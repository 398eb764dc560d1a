"""Claims and what was measured on them."""

from __future__ import annotations

import pytest

from experiments.made import made_suite
from paper.claims import claims_table


@pytest.fixture(scope="module")
def lines():
    def change(cell):
        if cell.detector == "hcm" and cell.parameters["drop_ratio"] == 0:
            return {"auc": 0.65}
        return {"auc": 0.72} if cell.detector == "dominant" else {}

    _, _, rows = made_suite(change=change, repetitions=2)
    return {line[0]: line[2] for line in claims_table(rows).rows}


def test_every_claim_of_the_paper_has_its_measurements(lines):
    assert set(lines) == {
        "HCM beats the baselines",
        "HAV is better than AHP on all networks",
        "anomalous nodes score higher on average",
        "a few dropped edges help, many harm",
        "more classes help",
        "insensitive to S",
        "SGLD is better than SGD",
        "the AUC over the epochs is steadier under SGLD",
    }


def test_measurements_by_hand(lines):
    assert lines["HCM beats the baselines"].endswith("best baseline DOMINANT 0.720 ± 0.000")
    assert "HAV − AHP −0.100" in lines["HAV is better than AHP on all networks"]
    assert "AHP +0.060 from R = 0 to 0.2" in lines["a few dropped edges help, many harm"]
    assert lines["insensitive to S"] == "AHP between 0.710 and 0.710; HAV between 0.610 and 0.610"
    assert "AHP +0.000 against SGD, rate tuned on the loss" in lines["SGLD is better than SGD"]
    assert "SGLD, preconditioned, temperature .001 0.0100" in lines["the AUC over the epochs is steadier under SGLD"]


def test_no_measurement_no_line():
    assert claims_table([]).rows == []
