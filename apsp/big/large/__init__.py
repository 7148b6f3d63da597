"""Out-of-core and interruptible closures: windows, super-blocks, checkpoints."""
