"""TRUSTED: draws inputs, runs the reference, owns the clock, compares, decides. No candidate code runs here."""
