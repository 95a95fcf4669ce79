"""The life of an execution: how it begins, is answered, cancelled, forked, closed and swept."""
