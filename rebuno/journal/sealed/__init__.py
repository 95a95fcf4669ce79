"""A store whose payloads are encrypted on their way in and decrypted on their way out."""
