"""Articles and files over real HTTP: asked once, refused with a reason, stored once, held until their files are final."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from articles.content_store import open_store
from articles.models import Article, Attachment
from crawl import jobs
from crawl.archive import Archive
from crawl.crawling import FAILURES_IN_A_ROW, Crawl
from crawl.errors import ErrorClass, FetchError
from crawl.fetching.http import HttpFetcher
from crawl.models import CrawlFailure, CrawlHost, CrawlJob, CrawlLog, CrawlRun
from crawl.runs import open_run
from crawl.turns import Turn, TurnOver
from crawl.visits import visit
from crawl.work import fetch_settings
from sources.adapters.base import ArticleRef
from sources.models import CrawlTarget
from sources.reading import adapter_for
from tests.crawl.listed import crawl_once, job_of, watched, work_on
from tests.crawl.witness import Witness, article, serve
from tests.faultserver import Answer, FaultServer, raw, reply

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback")]

PDF = b"%PDF-1.4 a file"
HTML = (
    b"<html><head><title>x</title></head><body><h1>not a file</h1><p>2024-03-15 "
    + "正文".encode() * 300
    + b"</p></body></html>"
)
WALL = (
    b"<html><head><title>Access Denied</title></head><body>"
    + "您的访问请求可能对网站造成威胁，已被阻断。Web应用防火墙 安全狗".encode()
    + b"</body></html>"
)


def one_article(server: FaultServer, witness: Witness, *files: str, **fields: Any) -> CrawlTarget:
    serve(server, witness, [["/a.html"]], files=files)
    return watched(server, **fields)


def file_of(server: FaultServer, path: str, *answers: Answer) -> str:
    server.add(path, *answers)
    return server.url(path)


def pdf(**headers: str | bytes) -> Answer:
    return reply(PDF, headers={"Content-Type": "application/pdf", **{n.replace("_", "-"): v for n, v in headers.items()}})


def states() -> list[tuple[str, str | None]]:
    return list(Attachment.objects.order_by("position").values_list("status", "error_class"))


def rest_is_over() -> None:
    CrawlHost.objects.update(backoff_until=None)
    CrawlJob.objects.update(not_before=None)


def assembled(target: CrawlTarget, fetcher: HttpFetcher) -> Crawl:
    job, _ = jobs.enqueue(target)
    lease = jobs.claim(job_id=job.job_id)
    assert lease is not None
    store = open_store()
    return Crawl(
        lease=lease,
        target=target,
        adapter=adapter_for(target),
        turn=Turn(lease, target, fetcher, fetch_settings().robots_limits, threading.Event()),
        fetcher=fetcher,
        store=store,
        archive=Archive(store, target.site.site_code, job.job_id),
        receipt=open_run(job, target),
    )


class TestArchive:
    def test_what_the_job_has_on_disk_is_not_asked_for_again(self, server: FaultServer, witness: Witness) -> None:
        target = one_article(
            server, witness, file_of(server, "/f.pdf", pdf(Content_Disposition='inline; filename="表.pdf"'.encode()))
        )
        ref = ArticleRef(server.url("/a.html"), "通知")
        with HttpFetcher(fetch_settings()) as fetcher:
            crawl = assembled(target, fetcher)
            first = visit(crawl, ref)
            again = visit(crawl, ref)
            assert again == first
            assert [file.name for file in again.files] == ["表.pdf"]
            assert len(server.hits("/a.html")) == len(server.hits("/f.pdf")) == 1
            crawl.archive.clear()
            visit(crawl, ref)
        assert len(server.hits("/a.html")) == len(server.hits("/f.pdf")) == 2

    def test_the_raw_page_and_the_text_are_on_disk_before_any_row(self, server: FaultServer, witness: Witness) -> None:
        target = one_article(server, witness)
        with HttpFetcher(fetch_settings()) as fetcher:
            found = visit(assembled(target, fetcher), ArticleRef(server.url("/a.html")))
        assert Article.objects.count() == 0
        store = open_store()
        assert store.read_gzip(found.manifest[0]["key"]) == article("/a.html")
        assert found.parsed and found.text_key
        assert store.open(found.text_key).read().decode() == found.parsed.body_text

    @pytest.mark.parametrize("ours", [ErrorClass.STORAGE, ErrorClass.STORAGE_FULL, ErrorClass.DB])
    def test_no_host_is_left_alone_for_faults_of_ours(self, server: FaultServer, witness: Witness, ours: ErrorClass) -> None:
        target = one_article(server, witness)
        with HttpFetcher(fetch_settings()) as fetcher:
            crawl = assembled(target, fetcher)
            for _ in range(2 * FAILURES_IN_A_ROW):
                crawl.note_fetch_error(FetchError(ours, "no room", url=server.url("/f.pdf")))
            silent = FetchError(ErrorClass.TIMEOUT, "no answer", url=server.url("/f.pdf"))
            for _ in range(FAILURES_IN_A_ROW - 1):
                crawl.note_fetch_error(silent)
            with pytest.raises(TurnOver):
                crawl.note_fetch_error(silent)
        assert "TIMEOUT" in (CrawlHost.objects.get().backoff_reason or "")


class TestFiles:
    @pytest.mark.parametrize(
        ("answer", "state", "status"),
        [
            (reply(HTML, headers={"Content-Type": "text/html"}), ("failed", "TYPE"), "ready"),
            (reply(HTML, headers={"Content-Type": "application/pdf"}), ("failed", "TYPE"), "ready"),
            (reply(b"<html><script>go()</script></html>"), ("failed", "TYPE"), "ready"),
            (reply(b"MZ\x90\x00 a program", headers={"Content-Type": "application/pdf"}), ("skipped", "TYPE"), "ready"),
            (reply(b"\x7fELF\x02", headers={"Content-Type": "application/pdf"}), ("skipped", "TYPE"), "ready"),
            (reply(b"#!/bin/sh\n"), ("skipped", "TYPE"), "ready"),
            (reply(b"gone", 404), ("failed", "HTTP_STATUS"), "ready"),
            (reply(b"broken", 500), ("pending", "HTTP_STATUS"), "raw"),
            (reply(b"busy", 503), ("pending", "RATE_LIMITED"), "raw"),
            (reply(b""), ("pending", "EMPTY_BODY"), "raw"),
            (reply(WALL, 403, {"Content-Type": "text/html"}), ("pending", "BLOCK_PAGE"), "raw"),
            (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), ("pending", "TRUNCATED"), "raw"),
        ],
    )
    def test_a_file_that_cannot_be_had_has_its_reason_and_the_article_is_stored(
        self,
        server: FaultServer,
        second: FaultServer,
        witness: Witness,
        answer: Answer,
        state: tuple[str, str],
        status: str,
    ) -> None:
        target = one_article(server, witness, file_of(second, "/f.pdf", answer))
        assert crawl_once(target) == "done"
        assert states() == [state]
        row = Article.objects.get()
        assert (row.status, row.has_attachment, row.change_seq is None) == (status, True, status == "raw")
        store = open_store()
        assert [*store.keys("attachments"), *store.keys("tmp"), *store.keys("spool")] == []
        assert CrawlLog.objects.filter(article_url=second.url("/f.pdf")).count() == 1

    def test_a_name_that_the_server_gives_in_gbk_is_read(self, server: FaultServer, witness: Witness) -> None:
        disposition = b'attachment; filename="' + "关于申报的通知.docx".encode("gbk") + b'"'
        one_article(server, witness, file_of(server, "/download", pdf(Content_Disposition=disposition)))
        assert crawl_once(CrawlTarget.objects.get()) == "done"
        row = Attachment.objects.get()
        assert (row.file_name, row.file_ext, row.mime, row.size_bytes) == (
            "关于申报的通知.docx",
            "docx",
            "application/pdf",
            len(PDF),
        )

    def test_the_same_bytes_under_two_urls_are_on_disk_once(self, server: FaultServer, witness: Witness) -> None:
        files = [file_of(server, path, pdf()) for path in ("/f1.pdf", "/f2.pdf")]
        assert crawl_once(one_article(server, witness, *files)) == "done"
        assert states() == [("done", None)] * 2
        assert len(set(Attachment.objects.values_list("file_hash", "file_path"))) == 1
        (key,) = open_store().keys("attachments")
        assert open_store().open(key).read() == PDF

    def test_a_file_named_twice_is_one_row_and_one_request(self, server: FaultServer, witness: Witness) -> None:
        url = file_of(server, "/f.pdf", pdf())
        assert crawl_once(one_article(server, witness, url, url + "#page=2", server.url("//f.pdf"))) == "done"
        assert states() == [("done", None)]
        assert len([hit for hit in server.log if hit.path.endswith("f.pdf")]) == 1

    def test_two_articles_that_name_one_file_ask_for_it_once(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, [["/a.html", "/b.html"]], files=[file_of(server, "/f.pdf", pdf())])
        assert crawl_once(watched(server)) == "done"
        assert Attachment.objects.filter(status="done").count() == 2
        assert len(server.hits("/f.pdf")) == 1

    def test_a_file_on_the_jobs_host_that_always_answers_503_holds_up_nothing(
        self, server: FaultServer, witness: Witness
    ) -> None:
        serve(server, witness, [["/a.html", "/b.html"]], files=[file_of(server, "/f.pdf", reply(b"busy", 503))])
        target = watched(server)
        assert crawl_once(target) == "waits"  # the whole host rests (fault-model H10)
        rest_is_over()
        assert work_on(job_of(target)) == "done"
        assert len(server.hits("/f.pdf")) == len(server.hits("/a.html")) == 1
        assert set(Article.objects.values_list("status", flat=True)) == {"raw"}
        assert states() == [("pending", "RATE_LIMITED")] * 2

    def test_a_fault_of_our_disk_says_nothing_against_the_host(self, server: FaultServer, witness: Witness) -> None:
        files = [file_of(server, f"/f{number}.pdf", pdf()) for number in range(7)]
        store = open_store()
        store.root.mkdir(parents=True)
        (store.root / "attachments").write_bytes(b"a file where the folder should be")
        assert crawl_once(one_article(server, witness, *files)) == "done"
        assert states() == [("pending", "STORAGE")] * 7
        assert CrawlHost.objects.get().consecutive_failures == 0
        assert Article.objects.get().status == "raw"


class TestPages:
    def test_a_page_that_always_answers_503_holds_up_nothing(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, [["/bad.html", "/good.html"]])
        server.add("/bad.html", reply(b"busy", 503))
        target = watched(server)
        assert crawl_once(target) == "waits"
        rest_is_over()
        assert work_on(job_of(target)) == "done"
        assert [row.url for row in Article.objects.all()] == [server.url("/good.html")]
        assert CrawlFailure.objects.get().error_class == "RATE_LIMITED"
        assert len(server.hits("/bad.html")) == 1

    def test_a_wall_with_an_error_status_lets_the_host_rest(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, [["/a.html", "/b.html"]])
        server.add("/a.html", reply(WALL, 403, {"Content-Type": "text/html; charset=utf-8"}))
        target = watched(server)
        assert crawl_once(target) == "waits"
        assert server.hits("/b.html") == []
        assert CrawlFailure.objects.get().error_class == "BLOCK_PAGE"
        assert "BLOCK_PAGE" in (CrawlHost.objects.get().backoff_reason or "")

    def test_an_answer_ends_what_earlier_turns_noted_against_the_host(self, server: FaultServer, witness: Witness) -> None:
        target = one_article(server, witness)
        CrawlHost.objects.create(host=server.netloc, consecutive_failures=7)
        assert crawl_once(target) == "done"
        assert CrawlHost.objects.get().consecutive_failures == 0

    @pytest.mark.parametrize("host", ["its own", "another"])
    def test_after_a_rest_one_failure_is_enough_for_the_next(
        self, server: FaultServer, second: FaultServer, witness: Witness, host: str
    ) -> None:
        probed = server if host == "its own" else second
        target = one_article(server, witness)
        CrawlHost.objects.create(host=probed.netloc, consecutive_failures=1)
        with HttpFetcher(fetch_settings()) as fetcher:
            crawl = assembled(target, fetcher)
            silent = FetchError(ErrorClass.TIMEOUT, "no answer", url=probed.url("/f.pdf"))
            if host == "its own":
                with pytest.raises(TurnOver):
                    crawl.note_fetch_error(silent)
            else:
                crawl.note_fetch_error(silent)
        row = CrawlHost.objects.get(host=probed.netloc)
        assert row.consecutive_failures == 2 and row.backoff_until is not None

    def test_a_refusal_for_good_is_an_answer_too(self, server: FaultServer, witness: Witness) -> None:
        serve(server, witness, [["/gone.html"]])
        server.add("/list1.html", reply(b"gone", 404))
        CrawlHost.objects.create(host=server.netloc, consecutive_failures=3)
        assert crawl_once(watched(server)) == "failed"
        assert CrawlHost.objects.get().consecutive_failures == 0

    def test_pages_without_end_are_cut_off_with_a_reason(self, server: FaultServer, witness: Witness) -> None:
        target = one_article(server, witness)
        for number in range(40):
            body = f"<html><head><meta http-equiv=refresh content='0;url=/p{number + 1}.html'></head><body></body></html>"
            server.add(f"/p{number}.html" if number else "/a.html", reply(body.encode(), headers={"Content-Type": "text/html"}))
        assert crawl_once(target) == "done"
        assert CrawlRun.objects.get().failed == 1
        assert len(server.log) <= 2 + 30


def test_a_secret_in_an_address_is_kept_for_the_file_and_not_written_into_the_log(
    server: FaultServer, witness: Witness
) -> None:
    url = file_of(server, "/f.pdf?token=canary-4711", pdf())
    crawl_once(one_article(server, witness, url))
    assert Attachment.objects.get().source_url == url
    logged = CrawlLog.objects.values_list("article_url", flat=True)
    assert server.url("/f.pdf?token=***") in logged
    assert not [line for line in logged if "canary-4711" in (line or "")]
