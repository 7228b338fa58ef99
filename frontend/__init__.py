"""ptoc: from numpy-like Python kernels to PTO bundles, and a simulator that proves the numbers."""
