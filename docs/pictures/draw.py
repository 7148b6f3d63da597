"""Draw the pictures of the pages again, by the code that the pages print: `python docs/pictures/draw.py [PAGE ...]`.

A block of Python that saves a picture, and all blocks before it on its page, are run; what they save goes into
docs/pictures. Blocks that say `skip: next` are left out.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

PICTURES = Path(__file__).parent
ROOT = PICTURES.parents[1]
_BLOCK = re.compile(r"(<!-- skip: next[^\n]*-->\s*)?^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def draw(page: Path) -> None:
    blocks = [code for skipped, code in _BLOCK.findall(page.read_text(encoding="utf-8")) if not skipped]
    if not any(".png" in code for code in blocks):
        return
    began, names = time.process_time(), {"__name__": page.stem}
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(ROOT / "examples", Path(folder) / "examples")
        os.chdir(folder)
        for code in blocks:
            exec(compile(code, page.name, "exec"), names)
        for picture in Path(folder).glob("*.png"):
            shutil.copyfile(picture, PICTURES / picture.name)
        os.chdir(ROOT)
    print(f"{page.name}: {time.process_time() - began:.2f} s", flush=True)


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    sys.path.insert(0, str(ROOT))
    for name in sys.argv[1:] or sorted(path.name for path in PICTURES.parent.glob("*.md")):
        draw(PICTURES.parent / name)
