"""`robustream.fit`: any estimator over any source, with progress, checkpoints and an early stop."""
