"""Policy tests: cases, how they are found, read and run, what they cover, and backtests."""
