"""The compiled policy: an index of rules, and closures that answer their conditions."""
