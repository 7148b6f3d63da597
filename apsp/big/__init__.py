"""Closures of one matrix by windows: larger than memory, interruptible, over several ranks.

`large.sources` reads windows of any input; `large.checkpoints` keeps the state of any of these closures, and continues.

             a window lives         what travels                  loop
in memory    where the verbs work   nothing                       road.schedules.distributed, as one rank
over ranks   where the verbs work   panels of each pivot block    road.schedules.distributed
through GPU  in host memory         windows, super-block by block large.streaming
from disk    in a tile store        the same                      large.streaming

A part that stays is updated by one product a round of few pivots, while the next panels are sent; windows that travel
need as few rounds as memory allows, each of many pivots and many products, while the next windows are read.
"""
