"""What a command does: its effects on files, hosts and programs, read by tables."""
