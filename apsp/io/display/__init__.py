"""Display of answers: numbers, data frames, notebooks, terminal tables and progress."""
