"""The resident judge: one process a user that answers the hooks of all hosts, and ends when nobody asks any more."""
