"""What is durable: executions, steps, approvals and the chained events, behind one `Store` interface."""
