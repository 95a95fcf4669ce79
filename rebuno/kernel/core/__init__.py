"""The one way of a submission: identify it, decide about it, settle it against the journal."""
