"""What is measured, one process a round. Each prints one JSON line of figures, seconds throughout."""
