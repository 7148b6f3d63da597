"""What the readers of files (apsp/formats) and of objects (apsp/inputs) share."""
