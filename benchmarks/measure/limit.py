"""A CPU limit for another process, like that of a Lambda function with little memory."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup/cpu")
_PERIOD_MICROSECONDS = 100_000


@contextmanager
def limited(process: int, cores: float) -> Iterator[bool]:
    """Limit a process to a part of a core for the duration of the block.

    Yields False, without a limit, where this process may not create a control group (cgroup v1, as root).
    """
    group = _GROUPS / f"cams-benchmarks-{process}"
    try:
        group.mkdir()
    except OSError:
        yield False
        return
    try:
        _write(group / "cpu.cfs_period_us", _PERIOD_MICROSECONDS)
        _write(group / "cpu.cfs_quota_us", round(cores * _PERIOD_MICROSECONDS))
        _write(group / "cgroup.procs", process)
        yield True
    finally:
        with suppress(ProcessLookupError):
            _write(_GROUPS / "cgroup.procs", process)
        group.rmdir()


def _write(file: Path, value: int) -> None:
    file.write_text(str(value), encoding="ascii")
