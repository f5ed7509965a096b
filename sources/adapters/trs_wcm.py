"""TRS WCM static sites (source-systems section 2): lists of links with a scripted pager, articles with meta tags and table.

Most ministries and many provinces publish this way. The templates differ, the shapes are few; what a site needs beyond them
goes into ``Params``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pydantic
from lxml.html import HtmlElement

from sources.adapters._trs_article import (
    Read,
    article_files,
    article_title,
    document_number,
    listed_date,
    published_at,
    refuse_walls,
    warnings_of,
)
from sources.adapters._trs_rows import Page, bare_host, native_id, read_rows
from sources.adapters.base import (
    ArticleRef,
    AttachmentRef,
    Capability,
    ListPage,
    ParsedArticle,
    ParseError,
    ParseProblem,
    Request,
    Response,
    TargetInfo,
)
from sources.parsing.html import (
    BODY_SELECTORS,
    body_html,
    body_text,
    drop_noise,
    find_body,
    is_file_url,
    parse_document,
    select,
    text_of,
)
from sources.parsing.links import forward_target, next_page_link
from sources.parsing.metadata import (
    collect_metadata,
    doc_no_in_title,
    meta_tags,
    source_line,
)
from sources.parsing.page_signs import read_signs
from sources.parsing.pagers import Pager, find_pager
from sources.parsing.urls import canonical_url, host_key, resolve

MAX_FORWARDS = 3
MAX_PARTS = 50
SOFT_404_BODY_MAX = 120
"""A body shorter than this may be the message of an error page in the site's usual layout."""

# What a page must hold to forward or to have further parts; most have nothing of it and need not be parsed here.
_MAY_GO_ON = re.compile(r"http-equiv\s*=\s*[\"']?\s*refresh|\blocation\b|createPage", re.IGNORECASE)
_NOTHING = re.compile(
    r"暂无(?:相关)?(?:数据|信息|内容|记录|文件|文章)|没有(?:找到)?(?:相关|任何)?(?:数据|信息|内容|记录)|共\s*0\s*条"
)


class PagerOverride(pydantic.BaseModel):
    """A pager that the pages do not tell, or tell wrongly.

    ``zero_based``: page 2 has the number 1; ``one_based``: page 2 has the number 2. ``page_url`` holds ``{n}`` and is
    relative to the entry page. Without ``pages`` the list goes on until a page has no rows.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    form: Literal["zero_based", "one_based"]
    page_url: str
    pages: int | None = pydantic.Field(default=None, ge=1)

    @pydantic.field_validator("page_url")
    @classmethod
    def _has_number(cls, value: str) -> str:
        if value.count("{n}") != 1:
            raise ValueError("must hold {n} once, the number of the page, e.g. index_{n}.html")
        return value


class TrsParams(pydantic.BaseModel):
    """What a site of this family may need. Selectors are CSS; without one the shapes of the family are recognised."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    external_links: Literal["skip", "follow"] = "skip"
    row_selector: str | None = None
    body_selector: str | None = None
    pager: Literal["auto", "none"] | PagerOverride = "auto"
    hidden_flag_selector: str = "i.flag"

    @pydantic.model_validator(mode="after")
    def _selectors_can_be_read(self) -> Self:
        empty = parse_document("")
        for selector in (self.row_selector, self.body_selector, self.hidden_flag_selector):
            if selector is not None:
                select(empty, selector)
        return self


class Adapter:
    """See the module. Pages are cursors: each page tells the URL of the next one."""

    id: ClassVar[str] = "trs_wcm"
    version: ClassVar[int] = 1
    Params: ClassVar[type[pydantic.BaseModel]] = TrsParams
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.DETAIL, Capability.CHECKPOINT, Capability.CONDITIONAL_GET}
    )

    def __init__(self, params: TrsParams, target: TargetInfo) -> None:
        self.params = params
        self.target = target

    def list_request(self, page: int, cursor: str | None) -> Request:
        """Raises ValueError for a later page without cursor when the pager is not given in the parameters."""
        if cursor:
            return Request(cursor)
        if page <= 1:
            return Request(self.target.entry_url)
        override = self._override()
        if override is None:
            raise ValueError(f"list page {page} of {self.target.target_code} needs the cursor that page {page - 1} gave")
        return Request(override.page_url(page))

    def parse_list(self, response: Response, page: int, cursor: str | None) -> ListPage:
        read = Read.of(response)
        known = Page(
            read.base,
            read.encoding,
            response.fetched_at,
            self._hosts(read),
            self.params.external_links == "skip",
            self.params.hidden_flag_selector,
        )
        refs = read_rows(read.doc, known, self.params.row_selector)
        warnings = warnings_of([read])
        if not refs:
            inner = self._inner_list(read)
            if inner is not None:
                return ListPage((), has_more=True, next_cursor=inner, warnings=warnings)
        pager = self._pager(read, page)
        if not refs:
            self._accept_no_rows(read, pager)
            return ListPage((), has_more=False, total=pager.total if pager else None, pages=pager.pages if pager else None)
        following = self._next_url(read, pager, page)
        if pager and pager.form == "text" and pager.pages > 1 and following is None and "下一页" not in response.text:
            warnings = (*warnings, f"the page tells of {pager.pages} list pages but not how they are called")
        pages = None if pager is None or pager.pages == 0 else pager.pages
        return ListPage(refs, following is not None, following, pager.total if pager else None, pages, warnings)

    def detail_request(self, ref: ArticleRef, got: Sequence[Response]) -> Request | None:
        if not got:
            return None if is_file_url(ref.url) else Request(ref.url)
        if not any(_MAY_GO_ON.search(response.text) for response in got):
            return None
        reads = [Read.of(response) for response in got]
        forwards = self._forwards(reads)
        if forwards == len(reads):
            target = forward_target(reads[-1].doc, reads[-1].response.url)
            return Request(target) if target and not is_file_url(target) and forwards <= MAX_FORWARDS else None
        parts = self._part_urls(reads[forwards])
        done = len(reads) - forwards
        return Request(parts[done]) if done < len(parts) else None

    def parse_detail(self, ref: ArticleRef, got: Sequence[Response]) -> ParsedArticle:
        if not got:
            if is_file_url(ref.url):
                return self._file_article(ref, ref.url)
            raise ParseError("at least one response", ref.url)
        reads = [Read.of(response) for response in got]
        forwards = self._forwards(reads)
        if forwards == len(reads):
            target = forward_target(reads[-1].doc, reads[-1].response.url) or ""
            if is_file_url(target):
                return self._file_article(ref, target)
            raise ParseError("an article behind the forwarding pages", target or ref.url, excerpt=reads[-1].response.text)
        return self._article(ref, reads[forwards:], forwarded=forwards > 0)

    # Lists

    def _hosts(self, read: Read) -> frozenset[str]:
        urls = (self.target.entry_url, self.target.base_url, read.response.url, read.base)
        return frozenset(bare_host(url) for url in urls if url)

    def _override(self) -> Pager | None:
        given = self.params.pager
        if not isinstance(given, PagerOverride):
            return None
        pattern = urljoin(self.target.entry_url, given.page_url.replace("{n}", "\x00")).replace("\x00", "{n}")
        return Pager("given", given.pages or 0, pattern, 0 if given.form == "one_based" else -1, self.target.entry_url)

    def _pager(self, read: Read, page: int) -> Pager | None:
        if self.params.pager == "none":
            return Pager("none", 1, "", 0, read.response.url)
        return self._override() or find_pager(read.response.text, read.response.request.url, page)

    def _next_url(self, read: Read, pager: Pager | None, page: int) -> str | None:
        """The next page's URL. The page number comes from the URL: an inner list does not count from the shell's page."""
        if pager is None or pager.form == "text":
            following = next_page_link(read.doc, read.base, read.encoding)
            same = following is not None and canonical_url(following) == canonical_url(read.response.url)
            return None if same else following
        current = pager.page_of(read.response.request.url)
        unknown = pager.pages == 0
        return pager.page_url(current + 1) if unknown or current < pager.pages else None

    def _inner_list(self, read: Read) -> str | None:
        """The page in a frame of the same host that holds the rows of a list shell."""
        hosts = self._hosts(read)
        for frame in read.doc.iter("iframe", "frame"):
            inner = resolve(read.base, frame.get("src") or "", read.encoding)
            if inner and bare_host(inner) in hosts and canonical_url(inner) != canonical_url(read.response.url):
                return inner
        return None

    def _accept_no_rows(self, read: Read, pager: Pager | None) -> None:
        """An empty list is believed when the page says so; anything else is a wall or another layout."""
        text = read.response.text
        refuse_walls(read, "list rows")
        if pager is not None and pager.form == "given" and pager.pages == 0:
            return
        declared = pager is not None and pager.pages <= 1 and pager.form not in ("client", "text", "none")
        if declared or _NOTHING.search(text_of(read.doc)):
            return
        raise ParseError(
            "list rows (a link with a date or an article URL)", read.response.url, excerpt=text_of(read.doc) or text
        )

    # Articles

    def _forwards(self, reads: Sequence[Read]) -> int:
        """How many pages at the beginning only forward."""
        count = 0
        for read in reads:
            if forward_target(read.doc, read.response.url) is None or find_body(read.doc, self._body_selectors()) is not None:
                break
            count += 1
        return count

    def _part_urls(self, read: Read) -> list[str]:
        """All pages of an article cut into ``t..._<id>.html``, ``t..._<id>_1.html`` ...; the first is the page itself."""
        url = read.response.request.url
        pager = find_pager(read.response.text, url, 1)
        stem = urlsplit(url).path.rsplit("/", 1)[-1].rpartition(".")[0]
        if pager is None or not stem or f"/{stem}_{{n}}." not in pager.pattern:
            return [url]
        return [pager.page_url(number) for number in range(1, min(pager.pages, MAX_PARTS) + 1)]

    def _body_selectors(self) -> tuple[str, ...]:
        return (self.params.body_selector,) if self.params.body_selector else ()

    def _file_article(self, ref: ArticleRef, url: str) -> ParsedArticle:
        """A row that links a file: the file is the article's only content."""
        name = ref.title or unquote(urlsplit(url).path.rsplit("/", 1)[-1])
        listed = listed_date(ref)
        return ParsedArticle(
            url=ref.url,
            title=name,
            body_text="",
            native_id=ref.native_id,
            publish_time=listed.utc() if listed else None,
            publish_precision=listed.precision if listed else "none",
            publish_date=ref.published_on,
            doc_no=str(ref.raw.get("doc_no", "")) or doc_no_in_title(name),
            channel_name=self.target.channel_name,
            attachments=(AttachmentRef(url, name),),
            metadata={"public_meta": {}, "meta_tags": {}, "written_on": None},
        )

    def _article(self, ref: ArticleRef, reads: Sequence[Read], *, forwarded: bool) -> ParsedArticle:
        first = reads[0]
        seen_on = first.response.fetched_at
        tags, line = meta_tags(first.doc), source_line(first.doc)
        bodies = self._bodies(reads)
        meta = collect_metadata(first.doc, bodies[0])
        files = [item for read, body in zip(reads, bodies, strict=True) for item in article_files(read, body)]
        if not files and bodies[0] is None:
            raise self._no_body(first)
        text = "\n".join(filter(None, (body_text(body) for body in bodies)))
        if not files and len(text) <= SOFT_404_BODY_MAX:
            refuse_walls(first, "the body of an article")
        title = article_title(first.doc, tags, meta, ref)
        published = published_at(tags, line.published, meta, ref, first.response)
        written = meta.date("written_on", seen_on)
        day = meta.date("published_on", seen_on)
        source = tags.get("contentsource", "") or line.source
        effective, expiry = meta.date("effective_on"), meta.date("expiry_on")
        metadata: dict[str, Any] = {
            "public_meta": dict(meta.raw),
            "meta_tags": tags,
            "written_on": written.iso if written else None,
        }
        url = ref.url
        if forwarded:
            # The page that holds the article names it: another list may link that page directly.
            url = urldefrag(first.response.url).url
            metadata["forwarded_from"] = ref.url
        own_id = None
        if host_key(url) == host_key(ref.url):  # ids of another host are another numbering
            own_id = native_id(first.response.url) or tags.get("contentid")
        return ParsedArticle(
            url=url,
            title=title,
            body_text=text,
            body_html="\n".join(
                body_html(body, read.base, read.encoding) for read, body in zip(reads, bodies, strict=True) if body is not None
            ),
            native_id=ref.native_id or own_id,
            publish_time=published.utc() if published else None,
            publish_precision=published.precision if published else "none",
            publish_date=(day.date if day else None) or (published.date if published else None) or ref.published_on,
            source_raw=source,
            index_no=meta["index_no"],
            doc_no=document_number(meta, ref, title, text),
            publisher=meta["publisher"] or source,
            effective_date=effective.date if effective else None,
            is_effective=meta.is_effective,
            expiry_date=expiry.date if expiry else None,
            topic_words=meta["topic_words"],
            open_category=meta["open_category"],
            channel_name=self.target.channel_name or tags.get("columnname", ""),
            attachments=tuple(AttachmentRef(url, name) for url, name in dict.fromkeys(files)),
            metadata=metadata,
            warnings=warnings_of(reads),
        )

    def _bodies(self, reads: Sequence[Read]) -> list[HtmlElement | None]:
        """The body of each part; only the first may be missing, beside files. Raises ParseError: no article with a hole."""
        bodies = [self._body(read) for read in reads]
        for read, body in zip(reads[1:], bodies[1:], strict=True):
            if body is None:
                raise self._no_body(read)
        return bodies

    def _body(self, read: Read) -> HtmlElement | None:
        drop_noise(read.doc)
        return find_body(read.doc, self._body_selectors())

    def _no_body(self, read: Read) -> ParseError:
        """Why there is no article: an empty container, a wall or index page in its place, or another layout."""
        refuse_walls(read, "the body of an article")
        where, text = read.response.url, text_of(read.doc)
        if any(select(read.doc, selector) for selector in (*self._body_selectors(), *BODY_SELECTORS)):
            return ParseError("text in the body container", where, problem=ParseProblem.EMPTY, excerpt=text)
        signs = read_signs(read.response.text)
        if not signs.article_evidence and signs.links and signs.link_chars * 2 > len(signs.text):
            return ParseError("an article, not an index page", where, problem=ParseProblem.BLOCKED, excerpt=text)
        return ParseError("a body container", where, excerpt=text or read.response.text)
