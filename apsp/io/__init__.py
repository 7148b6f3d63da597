"""Graphs in and answers out: inputs, formats, saved results, places, labels and display."""
