"""How answers look: numbers as they leave the library, data frames, notebooks, tables and progress in a terminal."""
