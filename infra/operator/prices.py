"""The cost of a request in dollars, at the list prices of us-east-1 as of 2025."""

from infra.deploy.function import API
from infra.deploy.functions import declared_functions

READ_UNIT, WRITE_UNIT = 0.125 / 1e6, 0.625 / 1e6
# A request of the gateway, and an invocation of its function.
GATEWAY, CALL = 3.50 / 1e6, 0.20 / 1e6
GB_SECOND = 16.6667 / 1e6
# Dollars for a GB of logs, and the GB of logs that a request writes: the service's line and Lambda's three.
LOG_GB, REQUEST_LOG_GB = 0.50, 0.9 / 1e6

(_MEMORY_GB,) = (function.memory_mb / 1024 for function in declared_functions() if function.name == API)


def requests(number: float, seconds: float) -> float:
    """Return the price of requests that took `seconds` in total, without the database."""
    return number * (GATEWAY + CALL + LOG_GB * REQUEST_LOG_GB) + seconds * _MEMORY_GB * GB_SECOND


def units(reads: float, writes: float) -> float:
    """Return the price of read and write units of the database."""
    return reads * READ_UNIT + writes * WRITE_UNIT
