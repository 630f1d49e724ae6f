"""From text to record: `evaluate` is the page to read first."""
