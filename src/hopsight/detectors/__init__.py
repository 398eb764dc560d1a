"""What every detector has in common: the contract, predictions, storage and the registry."""

from hopsight.detectors.registry import DETECTORS, get_detector

__all__ = ["DETECTORS", "get_detector"]
