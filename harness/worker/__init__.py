"""UNTRUSTED: the process that candidate code runs in. It answers calls; it decides nothing and knows nothing."""
