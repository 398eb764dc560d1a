"""The paper's hop-count model and its successor CrossHCM."""
