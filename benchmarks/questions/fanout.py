"""Fan-out: deliveries per second, CPU and memory of one sending process, and the effect of hanging receivers.

The sender and the receivers are two processes on two cores. The receivers answer after a delay or never, and close the
connection, as real deliveries go to many hosts. In the cloud, up to 200 processes of the `deliver` function have 10
deliveries in flight each; the local run's worker has 640. The cases with 200 and 800 show the capacity of one process.
They use plain HTTP, which production does not send; TLS has its own rows.
"""

import statistics
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import receiver
from benchmarks.fanout import process, senders
from benchmarks.fanout.process import Sender
from benchmarks.fanout.rates import Rate
from benchmarks.results import Goal, Row, row
from benchmarks.run import Run
from tests.webhooks.receivers import certificates

TITLE = "Fan-out: deliveries per second of one process, and the effect of hanging receivers"

_AGAIN = "ours, second run"
_HANGING = 900
_LEAST_RATE = {200: 800.0, 800: 2000.0}


def measure(run: Run) -> list[Row]:
    """Return the rows of the question."""
    return [*_rates(run), *_tls(run), *_memory(run), *_complete(run)]


def _rates(run: Run) -> Iterator[Row]:
    cases = [(200, 200)] if run.quick else [(200, 200), (200, 800), (0, 200)]
    peers = () if run.quick else ("requests", "urllib3", "aiohttp")
    names = [senders.OURS, _AGAIN, senders.FLOOR]
    # Peers run once: they differ by far more than the noise.
    rounds = [(*names, *peers), *[tuple(names)] * (0 if run.quick else 2)]
    names += peers
    with receiver.running(process.RECEIVERS_CORE) as port, ExitStack() as running:
        # One process per sender, so none collects the garbage of another.
        sender_of = {name: running.enter_context(process.running()) for name in names}
        steps = [(case, name) for each in rounds for case in cases for name in each]
        found: dict[Any, list[Rate]] = {}
        for (delay, count), name in run.each(steps, "deliveries per second"):
            urls = [f"http://{host}:{port}/{delay}" for host in receiver.HOSTS]
            found.setdefault((delay, count, name), []).append(_rate(sender_of[name], name, urls, count))
    for delay, count in cases:
        of = {name: found[delay, count, name] for name in names}
        case = f"{count} in flight, receivers answer after {delay} ms"
        rates = {name: statistics.median(one.rate for one in each) for name, each in of.items()}
        cpu = {name: statistics.median(one.cpu for one in each) for name, each in of.items()}
        fast = [Goal(">=", _LEAST_RATE[count])] if delay else []
        yield _row(case, "rate", "/s", rates, fast)
        yield _row(case, "CPU", "ms", cpu, [Goal("<=", 0.4)])
        again = statistics.median(one.cpu / two.cpu for one, two in zip(of[senders.OURS], of[_AGAIN], strict=True))
        yield row("fanout", case, "CPU, A/A", "x", again)


def _row(case: str, metric: str, unit: str, values: dict[str, float], goals: list[Goal]) -> Row:
    peers = {name: value for name, value in values.items() if name not in (senders.OURS, _AGAIN, senders.FLOOR)}
    floor = values.get(senders.FLOOR)
    return row("fanout", case, metric, unit, values[senders.OURS], peers=peers, floor=floor, goals=goals)


def _rate(sender: Sender, name: str, urls: list[str], in_flight: int) -> Rate:
    name = senders.OURS if name == _AGAIN else name
    return Rate(*sender.ask("rates", "rate", name=name, urls=urls, in_flight=in_flight, rounds=800 // in_flight))


def _tls(run: Run) -> Iterator[Row]:
    if run.quick:
        return
    with tempfile.TemporaryDirectory() as directory:
        made = certificates(Path(directory), "hooks.cams.test")
        trusted = {"SSL_CERT_FILE": str(made.authority)}
        with (
            receiver.running(process.RECEIVERS_CORE, made.leaves["good"]) as port,
            process.running(trusted) as sender,
        ):
            urls = [f"https://{receiver.HOSTS[0]}:{port}/200"]
            found = [_rate(sender, senders.OURS, urls, 200) for _ in run.each(range(2), "TLS")]
        with receiver.running(process.RECEIVERS_CORE, made.leaves["good"]) as port, process.running(trusted) as sender:
            hosts = [f"https://{receiver.HOSTS[0]}:{port}"]
            grown = _grown(sender, senders.OURS, hosts)
    cpu = statistics.median(one.cpu for one in found)
    yield row("fanout", "200 in flight, receivers answer after 200 ms, TLS", "CPU", "ms", cpu)
    yield row("fanout", f"{_HANGING} hanging receivers, TLS", "memory", "MB", grown, goals=[Goal("<=", 120)])


def _memory(run: Run) -> Iterator[Row]:
    names = [senders.OURS] if run.quick else [senders.OURS, senders.FLOOR, "requests", "aiohttp"]
    grown = {}
    with receiver.running(process.RECEIVERS_CORE) as port:
        hosts = [f"http://{host}:{port}" for host in receiver.HOSTS]
        for name in run.each(names, "memory with 900 hanging receivers"):
            with process.running() as sender:
                grown[name] = _grown(sender, name, hosts)
    yield _row(f"{_HANGING} hanging receivers", "memory", "MB", grown, [Goal("<=", 120)])


def _grown(sender: Sender, name: str, hosts: list[str]) -> float:
    grown: float = sender.ask("hanging", "memory", name=name, hosts=hosts, count=_HANGING)
    return grown


def _complete(run: Run) -> Iterator[Row]:
    shares = (0, 5) if run.quick else (0, 1, 5)
    rounds = 1 if run.quick else 3
    with (
        receiver.running(process.RECEIVERS_CORE) as port,
        process.running(run.engine.address) as sender,
    ):
        hosts = [f"http://{host}:{port}" for host in receiver.HOSTS]
        if not run.quick:
            urls = [f"{host}/200" for host in hosts]
            complete = Rate(*sender.ask("pipeline", "rate", urls=urls, invocations=5, count=400))
            case = "complete deliveries with a read and two writes, 5 batches of 10, receivers answer after 200 ms"
            yield row("fanout", case, "rate", "/s", complete.rate)
            yield row("fanout", case, "CPU", "ms", complete.cpu)
        arguments = {"hosts": hosts, "workers": 20, "a_second": 60}
        found: dict[int, list[float]] = {share: [] for share in shares}
        for share in run.each(shares * rounds, "waits of healthy receivers"):
            found[share].append(
                sender.ask("pipeline", "wait", hanging=share, count=60 if run.quick else 150, **arguments)
            )
    for share in shares[1:]:
        ratio = statistics.median(one / without for one, without in zip(found[share], found[0], strict=True))
        case = f"{share} % of the receivers hang"
        yield row("fanout", case, "wait of healthy receivers, 99th percentile", "x", ratio, goals=[Goal("<=", 1.5)])
