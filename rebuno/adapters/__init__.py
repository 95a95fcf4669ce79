"""Agent frameworks under a policy and a journal: `Guard` judges and records each tool call, and a module for each
framework fits it in. Each module needs the extra of its framework."""

from rebuno.adapters.calls import ToolCall
from rebuno.adapters.guard import Guard

__all__ = ["Guard", "ToolCall"]
