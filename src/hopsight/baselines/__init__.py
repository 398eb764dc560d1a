"""The seven detectors that the paper compares with, one file each."""
