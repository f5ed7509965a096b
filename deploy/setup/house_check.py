"""House rules no linter knows: folders at the root, left-over markers, blind excepts, lock files, gettext catalogues.

Standard library only. Prints one line per finding; status 1 when there is any.
"""

from __future__ import annotations

import ast
import gettext
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ROOT_FOLDERS = {"govcrawler", "crawl", "sources", "articles", "departments", "templates", "tests", "deploy"}
OWN_TEXT = {".py", ".sh", ".html", ".toml", ".md", ".yaml", ".yml", ""}
MARKER = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX)\b")
BLIND = {"Exception", "BaseException"}
QUOTED = re.compile(r'^(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d+)\])?)?\s*(".*")$')


def main() -> int:
    files = own_files(ROOT)
    findings = [*root_folders(files), *lock_files(ROOT)]
    for path in files:
        findings += check_text(path, (ROOT / path).read_text(encoding="utf-8")) if is_own_text(path) else []
        if path.suffix == ".po":
            findings += catalogue(ROOT, path)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


def own_files(root: Path) -> list[Path]:
    """Files that git tracks or would add, relative to the root; deleted ones left out."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    output = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode()
    return sorted(Path(name) for name in set(output.split("\0")) if name and (root / name).is_file())


def is_own_text(path: Path) -> bool:
    """Saved pages below tests/ are other people's words: of tests only the code counts."""
    return path.suffix == ".py" if path.parts[0] == "tests" else path.suffix in OWN_TEXT and path.name != "LICENSE"


def root_folders(files: list[Path]) -> Iterator[str]:
    found = {path.parts[0] for path in files if len(path.parts) > 1}
    for name in sorted(found - ROOT_FOLDERS):
        if not name.startswith("."):
            yield f"{name}/: no further folder at the root; put it into {', '.join(sorted(ROOT_FOLDERS))}"


def lock_files(root: Path) -> Iterator[str]:
    for path in sorted(root.glob("requirements*.txt")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if "://" in line:
                yield f"{path.name}:{number}: a lock file names no host; run make lock"


def check_text(path: Path, text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if MARKER.search(line):
            yield f"{path}:{number}: finish it or open an issue; no markers in the code"
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text, str(path))):
            if isinstance(node, ast.ExceptHandler) and is_blind(node):
                yield f"{path}:{node.lineno}: name the exceptions you can handle, or clean up and raise again"


def is_blind(handler: ast.ExceptHandler) -> bool:
    """Catches everything and does not end by raising again."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    everything = any(kind is None or (isinstance(kind, ast.Name) and kind.id in BLIND) for kind in kinds)
    return everything and not isinstance(handler.body[-1], ast.Raise)


def catalogue(root: Path, path: Path) -> Iterator[str]:
    """The compiled catalogue holds exactly the finished texts of its source."""
    compiled = root / path.with_suffix(".mo")
    remedy = f"run msgfmt -o {compiled.relative_to(root)} {path}"
    if not compiled.is_file():
        yield f"{path}: not compiled; {remedy}"
        return
    with compiled.open("rb") as file:
        have = {key: text for key, text in vars(gettext.GNUTranslations(file))["_catalog"].items() if key != ""}
    if have != read_po((root / path).read_text(encoding="utf-8")):
        yield f"{path}: the compiled catalogue is out of date; {remedy}"


def read_po(text: str) -> dict[str | tuple[str, int], str]:
    """Finished texts by message, in the shape of ``gettext.GNUTranslations``: not fuzzy, not empty, without the header."""
    catalog: dict[str | tuple[str, int], str] = {}
    for block in re.split(r"\n\s*\n", text):
        lines = [line.strip() for line in block.splitlines()]
        if any(line.startswith("#,") and "fuzzy" in line for line in lines):
            continue
        fields: dict[str, str] = {}
        name = ""
        for line in lines:
            match = QUOTED.match(line)
            if match:
                name = match[1] or name
                fields[name] = fields.get(name, "") + ast.literal_eval(match[3])
        if fields.get("msgid"):
            catalog.update(translations(fields))
    return catalog


def translations(fields: dict[str, str]) -> Iterator[tuple[str | tuple[str, int], str]]:
    context = fields.get("msgctxt")
    key = fields["msgid"] if context is None else f"{context}\x04{fields['msgid']}"
    if "msgid_plural" not in fields:
        if fields.get("msgstr"):
            yield key, fields["msgstr"]
        return
    forms = {name: text for name, text in fields.items() if name.startswith("msgstr[")}
    if any(forms.values()):
        for name, text in forms.items():
            yield (key, int(name[7:-1])), text


if __name__ == "__main__":
    sys.exit(main())
