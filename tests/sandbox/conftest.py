"""One prepared process for the room's tests, without torch, and both tiers."""

from collections.abc import Iterator
from typing import get_args

import pytest

from harness.sandbox import Isolation, Policy, Zygote
from harness.sandbox.policy import Tier
from harness.sandbox.selftest import Ran, run


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    with Zygote.start(preload=("harness.sandbox.selftest",)) as started:
        yield started


@pytest.fixture(params=["full", "basic"])
def tier(request: pytest.FixtureRequest, zygote: Zygote) -> Isolation:
    if request.param == "full" and zygote.ready().tier != "full":
        pytest.skip(f"no full tier on this machine: {zygote.ready().missing[0]}")
    assert request.param in get_args(Tier)
    return request.param


@pytest.fixture
def candidate(zygote: Zygote, tier: Isolation):
    """Runs source as a candidate would run; keywords go into its policy, `limits` among them."""

    def start(source: str, *, fds: tuple[int, ...] = (), timeout_s: float = 20.0, **policy: object) -> Ran:
        return run(zygote, source, Policy(isolation=tier, **policy), fds=fds, timeout_s=timeout_s)

    return start
