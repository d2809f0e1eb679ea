"""Classes for other packages: ir_measures, PyTerrier, MTEB, scikit-learn. Each module imports its package."""
