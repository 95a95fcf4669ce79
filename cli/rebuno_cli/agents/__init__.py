"""`rebuno agent`: who runs executions, and where."""
