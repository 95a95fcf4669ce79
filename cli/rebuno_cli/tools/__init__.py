"""`rebuno tools`: what servers say of their tools."""
