"""The kernel over HTTP."""
