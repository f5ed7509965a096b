"""A crawled body made harmless for a reader's browser: an allow-list of tags, no scripts, styles, forms, links or pictures."""

from __future__ import annotations

import nh3

TAGS = frozenset(
    "p br hr div span section article h1 h2 h3 h4 h5 h6 ul ol li dl dt dd blockquote pre code table caption colgroup col "
    "thead tbody tfoot tr th td b strong i em u s sub sup small figure figcaption".split()
)
ATTRIBUTES = {"td": {"colspan", "rowspan", "align"}, "th": {"colspan", "rowspan", "align"}, "p": {"align"}, "ol": {"start"}}
GONE_WITH_CONTENT = {"script", "style", "textarea", "title", "noscript", "template", "svg", "math", "iframe", "object"}
STYLE = (
    "body{font:16px/1.8 system-ui,'Noto Sans CJK SC',sans-serif;margin:16px;color:#1f2937;background:#fff;"
    "overflow-wrap:anywhere}table{border-collapse:collapse;max-width:100%}td,th{border:1px solid #d1d5db;padding:4px 8px}"
)


def sanitised(html: str) -> str:
    """``html`` with allowed tags only; text of other tags stays, that of scripts and the like goes."""
    return nh3.clean(html, tags=set(TAGS), attributes=ATTRIBUTES, clean_content_tags=GONE_WITH_CONTENT, link_rel=None)


def document(html: str | None, text: str | None) -> str:
    """A whole page for ``srcdoc`` of a sandboxed frame. Not marked safe: the template escapes it as an attribute."""
    body = sanitised(html) if html else "".join(f"<p>{nh3.clean_text(line)}</p>" for line in (text or "").splitlines())
    return f'<!doctype html><meta charset="utf-8"><style>{STYLE}</style><body>{body}</body>'
