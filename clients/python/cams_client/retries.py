"""When and how often a request is sent again."""

import random
import uuid
from dataclasses import dataclass

import httpx

# No answer arrived: the request may have taken effect or not.
LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError)

_KEY, _METHODS = "Idempotency-Key", {"POST", "PUT", "PATCH"}
_VISITOR = "Bearer cams_visitor_"
# Of the gateway or a proxy: the outcome is unknown, as if no answer had arrived.
_UNKNOWN = {502, 503, 504}


@dataclass(frozen=True)
class Retries:
    """Exponential backoff with full jitter, for lost answers, 502, 503, 504 and 429 with `Retry-After`.

    `attempts` counts the first one; with 1, no request is repeated. The pause after the nth attempt is a random time up
    to `base * 2**(n-1)` seconds, at most `longest`. `Retry-After` is added to it. An answer that asks for more than
    `longest` seconds is final.
    """

    attempts: int = 4
    base: float = 0.5
    longest: float = 30.0

    def prepare(self, request: httpx.Request) -> None:
        """Give a POST, PUT or PATCH an idempotency key if it may be repeated and has none: it takes effect once.

        The service rejects a key from a visitor.
        """
        is_visitor = request.headers.get("Authorization", "").startswith(_VISITOR)
        if self.attempts > 1 and request.method in _METHODS and not is_visitor:
            request.headers.setdefault(_KEY, str(uuid.uuid4()))

    def pause(self, attempt: int, outcome: httpx.Response | Exception) -> float | None:
        """The seconds to wait after the attempt with this number, or None if the outcome is final."""
        asked = 0.0 if isinstance(outcome, Exception) else _retry_after(outcome)
        if attempt >= self.attempts or asked is None or asked > self.longest:
            return None
        return asked + random.uniform(0, min(self.longest, self.base * 2 ** (attempt - 1)))


def _retry_after(response: httpx.Response) -> float | None:
    """The seconds that the answer asks to wait, 0 if it does not say; None if a repeat would get the same answer."""
    header = response.headers.get("Retry-After", "")
    # A 429 without it is a limit of an agent or workspace, which time does not lift.
    if response.status_code in _UNKNOWN or (response.status_code == httpx.codes.TOO_MANY_REQUESTS and header):
        return float(header) if header.isdecimal() else 0.0
    return None
