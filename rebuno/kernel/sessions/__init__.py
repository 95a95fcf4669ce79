"""Sessions of agents that run in other programs, which ask about each call and tell how it ended."""
