"""Request costs in dollars, at the us-east-1 list prices of 2025."""

from infra.deploy.function import API
from infra.deploy.functions import declared_functions

READ_UNIT, WRITE_UNIT = 0.125 / 1e6, 0.625 / 1e6
# An API Gateway request plus an invocation of its function.
GATEWAY, CALL = 3.50 / 1e6, 0.20 / 1e6
GB_SECOND = 16.6667 / 1e6
# A request to a standard queue.
QUEUE = 0.40 / 1e6
# Dollars per GB of logs, and GB of logs per request: the service's line plus Lambda's three lines.
LOG_GB, REQUEST_LOG_GB = 0.50, 0.9 / 1e6

(_MEMORY_GB,) = (function.memory_mb / 1024 for function in declared_functions() if function.name == API)


def requests(number: float, seconds: float) -> float:
    """Return the price of requests that took `seconds` in total, excluding the database."""
    return number * (GATEWAY + CALL + LOG_GB * REQUEST_LOG_GB) + seconds * _MEMORY_GB * GB_SECOND


def units(reads: float, writes: float) -> float:
    """Return the price of database read and write units."""
    return reads * READ_UNIT + writes * WRITE_UNIT
