"""A consumer of GovCrawler's feed: takes every revision once, keeps files of it, drops what was deleted. Needs httpx only.

    GOVCRAWLER_URL=http://127.0.0.1:8000 GOVCRAWLER_KEY=gc_... python rag_consumer.py FOLDER [--once]

Each article is FOLDER/<article id>/<revision>/ with article.json, text.txt and files/. A revision is complete or not there: it
is written beside and renamed, and acknowledged only then, so the program may be killed at any time and started again. The key
needs the scopes read and export. Replace ``keep`` and ``drop`` by what your system does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

BESIDE = ".new-"
PATIENCE = 8
"""How often a call is tried while the server is busy or away."""


class Feed:
    """The calls of the API that a consumer needs. Raises httpx.HTTPError when the server stays away."""

    def __init__(self, url: str, key: str) -> None:
        headers = {"Authorization": f"Api-Key {key}", "User-Agent": "govcrawler-rag-consumer/1"}
        self.http = httpx.Client(base_url=f"{url.rstrip('/')}/api/v1/", headers=headers, timeout=60)

    def call(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        """One call; repeating each of them is harmless. Waits as long as a busy server says."""
        for attempt in range(PATIENCE):
            try:
                response = self.http.request(method, path, **arguments)
            except httpx.TransportError:
                if attempt == PATIENCE - 1:
                    raise
                time.sleep(2**attempt)
                continue
            if response.status_code not in (429, 503) or attempt == PATIENCE - 1:
                break
            time.sleep(int(response.headers.get("Retry-After", "5")))
        if response.is_error:
            print(f"{method} {path}: {response.status_code} {response.text[:500]}", file=sys.stderr)
        response.raise_for_status()
        answer: dict[str, Any] = response.json()
        return answer

    def download(self, attachment: dict[str, Any], path: Path) -> None:
        """Streams a file to ``path`` and checks its hash. Raises ValueError for other bytes than announced."""
        digest = hashlib.sha256()
        with self.http.stream("GET", f"attachments/{attachment['id']}/content/") as response, path.open("wb") as file:
            response.raise_for_status()
            for chunk in response.iter_bytes():
                digest.update(chunk)
                file.write(chunk)
        if attachment["file_hash"] and digest.hexdigest() != attachment["file_hash"]:
            raise ValueError(f"attachment {attachment['id']} arrived with another hash")


def keep(feed: Feed, folder: Path, item: dict[str, Any]) -> None:
    """Stores one claimed revision. Raises OSError, ValueError, httpx.HTTPError; then nothing of it is there."""
    article = item["article"]
    home = folder / str(item["article_id"])
    final = home / str(item["revision"])
    if not final.exists():  # else it was written, and the acknowledgement was lost
        with tempfile.TemporaryDirectory(prefix=BESIDE, dir=folder) as beside:
            work = Path(beside) / "revision"
            (work / "files").mkdir(parents=True)
            for attachment in article["attachments"]:
                if attachment["status"] == "done":
                    extension = attachment["file_ext"] or ""
                    suffix = f".{extension}" if re.fullmatch(r"[a-z0-9]{1,8}", extension) else ""
                    feed.download(attachment, work / "files" / f"{attachment['id']}{suffix}")
            (work / "text.txt").write_text(article["content_text"] or "", encoding="utf-8")
            (work / "article.json").write_text(json.dumps(article, ensure_ascii=False, indent=1), encoding="utf-8")
            home.mkdir(exist_ok=True)
            work.rename(final)
    for older in home.iterdir():
        if int(older.name) < item["revision"]:
            shutil.rmtree(older)


def drop(folder: Path, article_id: int) -> None:
    """The article was deleted or withdrawn."""
    shutil.rmtree(folder / str(article_id), ignore_errors=True)


def take_revisions(feed: Feed, folder: Path) -> int:
    """Claims, stores and acknowledges until nothing is left; says how many were stored."""
    stored = 0
    while items := feed.call("POST", "exports/claim/", json={"limit": 20, "lease_seconds": 600})["items"]:
        for item in items:
            said = {"article_id": item["article_id"], "revision": item["revision"], "status": "done"}
            try:
                keep(feed, folder, item)
                stored += 1
            except (OSError, ValueError, httpx.HTTPError) as error:
                print(f"article {item['article_id']}: {error}", file=sys.stderr)
                said |= {"status": "failed", "error": f"{type(error).__name__}: {error}"[:4000]}
            feed.call("POST", "exports/ack/", json={"items": [said]})
    return stored


def follow_deletions(feed: Feed, folder: Path) -> int:
    """Reads the changes after the saved cursor and drops what went; says how many articles went."""
    place, gone = folder / ".cursor", 0
    after, more = int(place.read_text()) if place.exists() else 0, True
    while more:
        page = feed.call("GET", "changes/", params={"after": after, "limit": 200})
        for change in page["items"]:
            if change["type"] in ("delete", "withdraw"):
                gone += (folder / str(change["article_id"])).exists()
                drop(folder, change["article_id"])
        after, more = page["next_after"], page["has_more"]
        fresh = folder / ".cursor.new"
        fresh.write_text(str(after))
        fresh.replace(place)
    return gone


def main() -> int:
    parser = argparse.ArgumentParser(description="Keep a folder in step with GovCrawler's feed.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--once", action="store_true", help="end when nothing is left")
    parser.add_argument("--interval", type=float, default=30, help="seconds between rounds (default 30)")
    options = parser.parse_args()
    if missing := [name for name in ("GOVCRAWLER_URL", "GOVCRAWLER_KEY") if not os.environ.get(name)]:
        parser.error(f"set {' and '.join(missing)} in the environment")
    options.folder.mkdir(parents=True, exist_ok=True)
    for left_by_a_crash in options.folder.glob(f"{BESIDE}*"):
        shutil.rmtree(left_by_a_crash)
    feed = Feed(os.environ["GOVCRAWLER_URL"], os.environ["GOVCRAWLER_KEY"])
    while True:
        print(f"stored {take_revisions(feed, options.folder)}, dropped {follow_deletions(feed, options.folder)}", flush=True)
        if options.once:
            return 0
        time.sleep(options.interval)


if __name__ == "__main__":
    sys.exit(main())
