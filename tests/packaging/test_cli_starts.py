from __future__ import annotations

from click.testing import CliRunner

import cli


def test_help_is_shown() -> None:
    result = CliRunner().invoke(cli.main, ["--help"])
    assert result.exit_code == 0
    assert result.output.startswith("Usage:")
