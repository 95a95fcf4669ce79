"""`rebuno exec`: look at executions, end them, and begin them again."""
