"""How answers look: numbers for users, data frames, notebooks, tables and progress in a terminal."""
