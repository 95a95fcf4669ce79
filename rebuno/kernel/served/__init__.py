"""The kernel behind HTTP: replicas that share a store, their agents and their clients."""
