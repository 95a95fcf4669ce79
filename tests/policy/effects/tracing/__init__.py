"""Runs command lines in a sandbox and records what they do, to compare it with what the tables say."""
