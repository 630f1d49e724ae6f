"""--require-isolation means no less than what it names."""

import pytest
from click.testing import CliRunner

from harness.cli import options


@pytest.mark.parametrize(("required", "tier"), [("full", "full"), ("basic", "basic-or-more"), ("none", "auto")])
def test_a_required_tier_is_the_least_that_workers_get(required, tier):
    import click

    found = []

    @click.command()
    @options.judging
    def command(problems, device, **given):
        found.append(options.settings_of(**given).isolation)

    result = CliRunner().invoke(command, ["--require-isolation", required])
    assert result.exception is None, result.output
    assert found == [tier]
