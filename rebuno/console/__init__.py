"""The console: pages on which people see what agents did, answer their questions and look after policies.

Other packages import these names and no module of this one.
"""

from rebuno.console.app import mounted
from rebuno.console.forward import forwarded
from rebuno.console.local import open_console
from rebuno.console.settings import ConsoleSettings

__all__ = ["ConsoleSettings", "forwarded", "mounted", "open_console"]
