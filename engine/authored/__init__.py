"""YAML written by people: positioned documents, and problems that point at the place."""

from __future__ import annotations

from engine.authored.document import Document, InvalidDocument, load_document, parse_document
from engine.authored.problem import Problem, render, render_all

__all__ = ["Document", "InvalidDocument", "Problem", "load_document", "parse_document", "render", "render_all"]
