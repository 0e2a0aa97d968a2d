"""``python -m firstfault``."""

from __future__ import annotations

from firstfault import main

if __name__ == "__main__":
    main()
