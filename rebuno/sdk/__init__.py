"""The API for agent developers: steps, tools, and the context that carries them to a kernel."""
