"""The machine around the algebra: arrays, devices, memory, compilation, signals, errors and messages."""
