"""`rebuno policy`: check, test, explain and format bundles."""
