"""The `rebuno` command: parse arguments, one library call, render, exit code."""
