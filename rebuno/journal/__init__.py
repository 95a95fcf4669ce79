"""The durable records: executions, steps, approvals and chained events, behind one `Store` interface."""
