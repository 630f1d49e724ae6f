"""From text to record, in the controller's process: `evaluate` is the page to read first."""
