"""`rebuno server` and `rebuno dev`: a kernel behind HTTP."""
