"""`rebuno keyring`: the keys that encrypt a store."""
