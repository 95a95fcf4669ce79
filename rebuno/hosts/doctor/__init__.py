"""Whether the hooks of coding agents are there, run, and are not switched off elsewhere."""

from rebuno.hosts.doctor.examine import examine, planted_scopes
from rebuno.hosts.doctor.finding import Finding, Status

__all__ = ["Finding", "Status", "examine", "planted_scopes"]
