"""What Prometheus may ask for. Names are `harness_*`; seconds and counts."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from harness.schema import Record
from harness.serve.engine import Engine, Watcher

BUCKETS_S = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900)


class Metrics(Watcher):
    """Counts what the engine tells. A registry of its own: two servers in one process do not mix."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = self._counter("requests", "Judgements asked for, by what came of it at once.", "outcome")
        self._verdicts = self._counter("verdicts", "Verdicts by kind.", "kind")
        self._faults = self._counter("faults", "Faults of ours, of the machine or of a problem.", "kind")
        self._builds = self._counter("builds", "Extensions built, or taken from the cache.", "toolchain", "cached")
        self._phases = self._counter("phase_seconds", "Seconds of judged candidates, by phase.", "phase")
        self._busy = self._counter("device_busy_seconds", "Seconds that a device was judging.", "device")
        self._latency = Histogram(
            "harness_judgement_seconds", "From acceptance to verdict.", buckets=BUCKETS_S, registry=self._registry
        )
        self._gauges = {
            name: Gauge(f"harness_{name}", text, registry=self._registry)
            for name, text in (
                ("queued_jobs", "Jobs that wait for their turn."),
                ("running_jobs", "Jobs that are prepared or judged."),
                ("oldest_queued_seconds", "How long the oldest of them has waited."),
                ("healthy", "1 where jobs are taken, 0 while the server drains or cannot judge."),
            )
        }

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"harness_{name}", text, labels, registry=self._registry)

    def taken(self, how: str) -> None:
        self._requests.labels(how).inc()

    def judged(self, record: Record, seconds: float) -> None:
        self._verdicts.labels(record.verdict.kind).inc()
        self._latency.observe(seconds)
        for phase, phase_s in record.phases_s.items():
            self._phases.labels(phase).inc(phase_s)
        for build in record.builds:
            self._builds.labels(build.toolchain, str(build.cached).lower()).inc()

    def fault(self, kind: str) -> None:
        self._faults.labels(kind).inc()

    def device_busy(self, device: str, seconds: float) -> None:
        self._busy.labels(device).inc(seconds)

    def text(self, engine: Engine) -> bytes:
        """The page in Prometheus's text format."""
        self._gauges["queued_jobs"].set(engine.jobs.count("queued"))
        self._gauges["running_jobs"].set(engine.jobs.count("running"))
        self._gauges["oldest_queued_seconds"].set(engine.jobs.oldest_s())
        self._gauges["healthy"].set(0 if engine.draining or engine.fault else 1)
        page: bytes = generate_latest(self._registry)
        return page
