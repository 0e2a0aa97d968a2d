"""Links between the pages, and from them into the tree, lead somewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, anchors, links


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    known: dict[Path, set[str]] = {}
    dead = []
    for link in links(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if target.suffix == ".md" and target.exists() and target not in known:
            known[target] = anchors(target)
        if not target.exists() or (anchor and anchor not in known.get(target, ())):
            dead.append(link)
    assert dead == []
