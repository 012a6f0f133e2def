"""Renders the Markdown documentation to HTML, and fails on broken links.

The documents are readable as they are. This tool makes pages to browse, and checks the links.

    python tools/make_docs.py build/docs
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[1]
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em; }}
pre, code {{ background: #f4f4f4; }} pre {{ padding: 0.8em; overflow-x: auto; }}
table {{ border-collapse: collapse; }} td, th {{ border: 1px solid #ccc; padding: 0.2em 0.6em; }}
</style></head><body>
{body}</body></html>
"""


def render(source: Path, target: Path) -> list[str]:
    """Writes `source` as HTML to `target`; returns its broken links."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = parser.parse(source.read_text())
    broken = []
    for inline in (child for token in tokens for child in token.children or []):
        name = {"link_open": "href", "image": "src"}.get(inline.type)
        address = urlsplit(str(inline.attrs[name])) if name else None
        if name is None or address is None or address.scheme or not address.path:
            continue
        linked = source.parent / unquote(address.path)
        if not linked.exists():
            broken.append(f"{source.relative_to(ROOT)}: {address.path} does not exist")
        elif linked.suffix == ".md":
            inline.attrs[name] = address._replace(path=address.path.removesuffix(".md") + ".html").geturl()
    target.parent.mkdir(parents=True, exist_ok=True)
    body = parser.renderer.render(tokens, parser.options, {})
    target.write_text(PAGE.format(title=escape(source.stem), body=body))
    return broken


def main(output: Path) -> int:
    sources = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    broken = []
    for source in sources:
        broken += render(source, output / source.relative_to(ROOT).with_suffix(".html"))
    print(*broken, f"{len(sources)} pages in {output}", sep="\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
