"""Pictures of stored results; only these modules need matplotlib."""
