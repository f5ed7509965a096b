"""Values that a page keeps in a script: an object literal is cut into its members by a scanner that knows strings.

A regular expression that cuts at the first ``}`` or at a following key breaks as soon as a text holds a brace, a quote or
the key itself. The literal as a whole is JavaScript (bare keys, single quotes); single members are often JSON.
"""

from __future__ import annotations

import json
import re
from typing import Any

_TOKEN = re.compile(
    r"""(?P<string>"[^"\\]*(?:\\.[^"\\]*)*"|'[^'\\]*(?:\\.[^'\\]*)*'|`[^`\\]*(?:\\.[^`\\]*)*`)"""
    r"""|(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<open>[\{\[(])|(?P<close>[\}\])])|(?P<mark>[:,])""",
    re.DOTALL,
)
_PAIRS = {"{": "}", "[": "]", "(": ")"}
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_SHORT = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0", "\n": ""}


def assigned_object(source: str, name: str) -> dict[str, str] | None:
    """Members of the object literal that the script assigns to ``name``, as source text; None when there is none.

    Raises ValueError when the literal does not end or its brackets do not pair.
    """
    found = re.search(rf"(?<![\w$]){re.escape(name)}\s*=\s*(?=\{{)", source)
    return object_members(source, found.end()) if found else None


def object_members(source: str, start: int) -> dict[str, str]:
    """Members of the object literal whose ``{`` stands at ``start``: key to the source text of its value.

    Raises ValueError when the literal does not end or its brackets do not pair.
    """
    members: dict[str, str] = {}
    awaited: list[str] = []
    key: str | None = None
    part = start + 1
    for token in _TOKEN.finditer(source, start):
        text, depth = token.group(), len(awaited)
        if token.lastgroup == "open":
            awaited.append(_PAIRS[text])
        elif token.lastgroup == "close":
            if not awaited or awaited.pop() != text:
                raise ValueError(f"unpaired {text!r} at character {token.start()}")
            if not awaited:
                _keep(members, key, source[part : token.start()])
                return members
        elif token.lastgroup == "mark" and depth == 1:
            if text == ":" and key is None:
                key, part = _plain_key(source[part : token.start()]), token.end()
            elif text == ",":
                _keep(members, key, source[part : token.start()])
                key, part = None, token.end()
    raise ValueError(f"the object literal at character {start} does not end")


def literal(value: str) -> Any:
    """The value of JSON or of a quoted JavaScript string or a bare word. Raises ValueError for any other expression."""
    value = value.strip()
    if len(value) >= 2 and value[0] in "'`" and value[-1] == value[0]:
        plain = _ESCAPE.sub(_unescape, value[1:-1])
        return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return json.loads(value, strict=False)


def _keep(members: dict[str, str], key: str | None, value: str) -> None:
    if key is not None and key not in members:
        members[key] = value.strip()


def _plain_key(text: str) -> str:
    """A key without comments and quotes."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL).strip().strip("'\"")


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    return chr(int(code[1:], 16)) if len(code) > 1 else _SHORT.get(code, code)
