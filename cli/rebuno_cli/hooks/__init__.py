"""`rebuno hook`: the policy in front of coding agents that somebody else wrote."""
