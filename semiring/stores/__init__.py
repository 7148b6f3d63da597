"""Files: tiles of matrices larger than memory, archives, atomic writes, and whose files may be executed."""
