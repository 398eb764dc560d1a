"""The trainable parts: GCN, MLP, and the SGLD optimizer."""
