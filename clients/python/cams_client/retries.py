"""The retry policy: which requests are sent again, when, and how often."""

import random
import uuid
from dataclasses import dataclass

import httpx

# No response arrived, so it is unknown whether the request took effect.
LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError)

_KEY, _METHODS = "Idempotency-Key", {"POST", "PUT", "PATCH"}
_VISITOR = "Bearer cams_visitor_"
# The gateway or a proxy sends these statuses. The outcome is unknown, as if no response had arrived.
_UNKNOWN = {502, 503, 504}


@dataclass(frozen=True)
class Retries:
    """Exponential backoff with full jitter, for lost responses, 502, 503, 504, and 429 with `Retry-After`.

    `attempts` includes the first attempt: 1 disables retries. The pause after attempt n is a random time between 0 and
    `base * 2**(n-1)` seconds, at most `longest`, plus the seconds in `Retry-After`. If `Retry-After` is above
    `longest`, the request is not sent again.
    """

    attempts: int = 4
    base: float = 0.5
    longest: float = 30.0

    def prepare(self, request: httpx.Request) -> None:
        """Add an idempotency key to a POST, PUT or PATCH without a key, so that retries take effect once.

        With a visitor token, add no key, because the service would reject the request.
        """
        is_visitor = request.headers.get("Authorization", "").startswith(_VISITOR)
        if self.attempts > 1 and request.method in _METHODS and not is_visitor:
            request.headers.setdefault(_KEY, str(uuid.uuid4()))

    def pause(self, attempt: int, outcome: httpx.Response | Exception) -> float | None:
        """Return the seconds to wait after the attempt with this number, or None if the outcome is final."""
        asked = 0.0 if isinstance(outcome, Exception) else _retry_after(outcome)
        if attempt >= self.attempts or asked is None or asked > self.longest:
            return None
        return asked + random.uniform(0, min(self.longest, self.base * 2 ** (attempt - 1)))


def _retry_after(response: httpx.Response) -> float | None:
    """Return the seconds in `Retry-After`, 0 without this header, or None if a retry would get the same response."""
    header = response.headers.get("Retry-After", "")
    # A 429 without this header means that an agent or workspace has reached a limit. Waiting does not lift it.
    if response.status_code in _UNKNOWN or (response.status_code == httpx.codes.TOO_MANY_REQUESTS and header):
        return float(header) if header.isdecimal() else 0.0
    return None
