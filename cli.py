"""The command line: options and wiring only."""

from __future__ import annotations

import click

from firstfault import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="firstfault")
def main() -> None:
    """Find the first fault behind a multi-node training timeout."""


if __name__ == "__main__":
    main()
