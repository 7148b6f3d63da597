"""Other ways in: the command `apsp`, the backend of NetworkX, gradients."""
