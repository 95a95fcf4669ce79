"""Identify, decide, settle: what happens to a submission, and everything an operator may do."""
