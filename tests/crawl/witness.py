"""Small list sites on fault servers, with a witness of every request's begin and end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from time import monotonic

from tests.faultserver import Answer, FaultServer, Turn, head

SLACK = 0.005
"""Clock reading and threads: what a gap may seem shorter than it was."""


@dataclass(frozen=True)
class Span:
    """One request as the server saw it, in monotonic seconds."""

    host: str
    path: str
    began: float
    ended: float


@dataclass
class Witness:
    """Begin and end of every request to any of the servers that answer through it."""

    spans: list[Span] = field(default_factory=list)

    def answer(
        self,
        body: bytes = b"",
        *,
        hold: float = 0.0,
        status: int = 200,
        headers: dict[str, str | bytes] | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> Answer:
        """A correct answer after ``hold`` seconds; ``meanwhile`` is done when the request has come."""
        kind = {} if status in (301, 302) else {"Content-Type": "text/html; charset=utf-8"}
        start = head(status, {"Content-Length": str(len(body)), **kind, **(headers or {})})

        def answer(turn: Turn) -> bool:
            began = monotonic()
            if meanwhile is not None:
                meanwhile()
            turn.pause(hold)
            # Written down before the last byte leaves: the client cannot be on its next request yet.
            self.spans.append(Span(turn.hit.headers["host"], turn.hit.target, began, monotonic()))
            turn.send(start + body)
            return True

        return answer

    def of(self, host: str) -> list[Span]:
        return sorted((span for span in self.spans if span.host == host), key=lambda span: span.began)

    def paths(self, host: str) -> list[str]:
        return [span.path for span in self.of(host)]

    def gaps(self, host: str) -> list[float]:
        """Seconds from the end of each request to the begin of the next; negative when two were open at once."""
        return [later.began - earlier.ended for earlier, later in pairwise(self.of(host))]

    def overlaps(self, one: str, other: str) -> bool:
        """Whether requests to the two hosts were ever open at the same time."""
        return any(a.began < b.ended and b.began < a.ended for a in self.of(one) for b in self.of(other))


def list_page(hrefs: Iterable[str], following: str = "", pinned: Sequence[str] = ()) -> bytes:
    items = "".join(
        f"<li>{'<i class=top>顶</i>' if href in pinned else ''}<a href='{href}'>关于{href}的通知</a><span>2024-03-15</span>"
        for href in hrefs
    )
    link = f"<a class=next href='{following}'>下一页</a>" if following else ""
    return f"<html><head><title>通知公告</title></head><body><ul class=news>{items}</ul>{link}</body></html>".encode()


def article(title: str, files: Sequence[str] = ()) -> bytes:
    links = "".join(f"<a href='{url}'>附件</a>" for url in files)
    text = f"<p>{title}：各有关单位，现将有关事项通知如下，请认真贯彻执行。</p>" * 3
    return f"<html><body><h1>{title}</h1><div class=text>{text}</div><div class=files>{links}</div></body></html>".encode()


def serve(
    server: FaultServer,
    witness: Witness,
    pages: Sequence[Sequence[str]],
    *,
    hold: float = 0.0,
    robots: str = "",
    files: Sequence[str] = (),
) -> None:
    """List pages ``/list1.html`` ... with these article paths, the articles, and robots.txt.

    Each article names the ``files``.
    """
    server.add("/robots.txt", witness.answer(robots.encode(), headers={"Content-Type": "text/plain"}))
    for number, names in enumerate(pages, 1):
        following = f"/list{number + 1}.html" if number < len(pages) else ""
        server.add(f"/list{number}.html", witness.answer(list_page(names, following), hold=hold))
        for name in names:
            server.add(name, witness.answer(article(name, files), hold=hold))
