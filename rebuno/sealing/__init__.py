"""Key rings and the data keys of executions: what is sealed is encrypted with AES-256-GCM.

`KeyRing` holds the named keys of a store, which live outside it; `ExecutionKey` is the one data key of an execution,
which the store keeps wrapped under a key of the ring.
"""

from rebuno.errors import KeyRingError, SealBroken, SealErased, SealKeyMissing
from rebuno.sealing.execution_key import ExecutionKey
from rebuno.sealing.ring import KeyRing, RingKey

__all__ = ["ExecutionKey", "KeyRing", "KeyRingError", "RingKey", "SealBroken", "SealErased", "SealKeyMissing"]
