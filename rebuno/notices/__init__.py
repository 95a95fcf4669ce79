"""Tells people of questions: signed web hooks, commands, Slack and mail; at least once, from the journal."""

from rebuno.notices.config import Notices, read_notices
from rebuno.notices.telling import telling, told_by

__all__ = ["Notices", "read_notices", "telling", "told_by"]
