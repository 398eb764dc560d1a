"""The comparison of all detectors on equal terms, and the paper's experiments, as cells that can be resumed."""
