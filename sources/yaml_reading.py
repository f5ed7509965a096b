"""YAML for configuration, read strictly: plain data with the line of every value, or one clear complaint.

Refused: tags, aliases, duplicate keys, several documents, more than 1 MiB, deep nesting. Booleans are only ``true`` and
``false`` and numbers only what YAML 1.2 and people agree on: ``on``, ``yes``, ``22:30``, ``007`` and ``2024-01-01`` stay text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 32

Path = tuple[str | int, ...]
"""Where a value is: keys and list indexes from the top, ``("targets", 0, "cron")``."""


class UnreadableYaml(ValueError):
    """The file is not the YAML read here. ``line`` counts from 1; ``where`` is the dotted place when it is known."""

    def __init__(self, reason: str, line: int, where: Path = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.where = where


@dataclass(frozen=True, slots=True)
class Document:
    """Plain values (dict with text keys, list, str, int, float, bool, None) and the line each place begins at."""

    value: Any
    lines: Mapping[Path, int]

    def line(self, path: Path) -> int:
        """The line of ``path``, or of the nearest place above it that the file has."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


class _Loader(yaml.SafeLoader):
    """PyYAML's safe parser with the scalar rules of this module instead of those of YAML 1.1."""


_Loader.yaml_implicit_resolvers = {}
_TAG = "tag:yaml.org,2002:"
_NULL, _BOOL, _INT, _FLOAT = (_TAG + name for name in ("null", "bool", "int", "float"))
# Each is a part of what PyYAML's dumper quotes, so that text written by it is read back as text.
_Loader.add_implicit_resolver(_NULL, re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""])
_Loader.add_implicit_resolver(_BOOL, re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), list("tTfF"))
_Loader.add_implicit_resolver(_INT, re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})\Z"), list("-+0123456789"))
_Loader.add_implicit_resolver(
    _FLOAT, re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+][0-9]+)?\Z"), list("-+.0123456789")
)


def read(data: bytes) -> Document:
    """The one document of a file. Raises UnreadableYaml."""
    if len(data) > MAX_BYTES:
        raise UnreadableYaml(f"the file has {len(data):,} bytes; at most {MAX_BYTES:,} are read: split it", 1)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableYaml(f"byte 0x{data[error.start]:02x} is not UTF-8: save the file as UTF-8", line) from error
    try:
        _refuse_dangers(text)
        root = yaml.compose(text, Loader=_Loader)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UnreadableYaml(f"control character U+{ord(text[error.position]):04X}: remove it", line) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = ", ".join(part for part in (error.context, error.problem) if part)
        raise UnreadableYaml(f"not valid YAML: {what}; check indentation, quotes and colons", _line(mark)) from error
    if root is None:
        raise UnreadableYaml("the file is empty: describe a site or remove the file", 1)
    lines: dict[Path, int] = {}
    return Document(_value(root, (), lines), lines)


def _line(mark: Any) -> int:
    return int(mark.line) + 1 if mark is not None else 1


def _refuse_dangers(text: str) -> None:
    """Look at the parser's events before anything is built: no alias, no tag, no bottomless nesting, one document."""
    depth = documents = 0
    for event in yaml.parse(text, Loader=_Loader):
        line = _line(event.start_mark)
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise UnreadableYaml("a second document begins here: one file describes one site", line)
        elif isinstance(event, yaml.AliasEvent):
            raise UnreadableYaml(f"alias *{event.anchor}: aliases are not read, write the value out", line)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.NodeEvent):
            tag = getattr(event, "tag", None)
            if tag is not None:
                raise UnreadableYaml(f"tag {tag!r}: tags are not read, remove it", line)
            depth += isinstance(event, yaml.CollectionStartEvent)
            if depth > MAX_DEPTH:
                raise UnreadableYaml(f"nested deeper than {MAX_DEPTH} levels", line)


def _value(node: yaml.Node, path: Path, lines: dict[Path, int]) -> Any:
    lines.setdefault(path, _line(node.start_mark))
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, lines)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*path, index), lines) for index, item in enumerate(node.value)]
    return _scalar(node, path)


def _mapping(node: yaml.MappingNode, path: Path, lines: dict[Path, int]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = _line(key_node.start_mark)
        if not isinstance(key_node, yaml.ScalarNode):
            raise UnreadableYaml("a key must be a word, not a list or a mapping", line, path)
        key = _storable(key_node.value, line, path)
        place = (*path, key)
        if key in result:
            raise UnreadableYaml(f"the key {key!r} is here twice, first in line {lines[place]}: keep one", line, place)
        lines[place] = line
        result[key] = _value(value_node, place, lines)
    return result


def _scalar(node: yaml.Node, path: Path) -> Any:
    text, line = str(node.value), _line(node.start_mark)
    if node.tag == _NULL:
        return None
    if node.tag == _BOOL:
        return text.lower() == "true"
    if node.tag == _INT:
        return int(text)
    if node.tag == _FLOAT:
        number = float(text)
        if not math.isfinite(number):
            raise UnreadableYaml(f"the number {text} is too large", line, path)
        return number
    return _storable(text, line, path)


def _storable(text: str, line: int, path: Path) -> str:
    """Escapes in double quotes can name what no database stores: NUL and lone surrogates."""
    if bad := re.search("[\x00\ud800-\udfff]", text):
        raise UnreadableYaml(f"text with U+{ord(bad[0]):04X}, which is no character: remove it", line, path)
    return text
