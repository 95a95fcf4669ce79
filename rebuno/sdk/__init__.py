"""What an agent's author writes: steps, tools, and the context that carries them to a kernel."""
