"""TLS: every refusal names its reason, and only the caller's word switches verification off (fault-model H14, H4)."""

from __future__ import annotations

import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crawl.errors import ErrorClass
from crawl.fetching.address_guard import AddressGuard
from crawl.fetching.http import HttpFetcher
from sources.adapters.base import Request
from tests.crawl.fetching.conftest import LOOPBACK, failure
from tests.faultserver import FaultServer, reply

MakeFetcher = Callable[..., HttpFetcher]
HOST = "www.gov.example"


def openssl(directory: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with ca.pem, and key and chain of a good, an expired, a foreign-named and a self-signed server."""
    folder = tmp_path_factory.mktemp("certificates")
    new_key = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30")
    openssl(folder, *new_key, "-subj", "/CN=Test CA", "-keyout", "ca.key", "-out", "ca.pem")
    openssl(
        folder,
        *new_key,
        "-subj",
        f"/CN={HOST}",
        "-addext",
        f"subjectAltName=DNS:{HOST}",
        "-keyout",
        "self.key",
        "-out",
        "self.pem",
    )
    (folder / "ca.cnf").write_text(
        "[ca]\ndefault_ca=d\n[d]\nnew_certs_dir=.\ndatabase=index.txt\nserial=serial\ndefault_md=sha256\npolicy=p\n"
        "unique_subject=no\ncopy_extensions=copy\n[p]\ncommonName=supplied\n"
    )
    (folder / "serial").write_text("01\n")
    (folder / "index.txt").write_text("")
    years = {"good": ("20200101000000Z", "20491231000000Z"), "expired": ("20200101000000Z", "20200201000000Z")}
    for name, host in (("good", HOST), ("expired", HOST), ("foreign", "other.example")):
        start, end = years.get(name, years["good"])
        openssl(
            folder,
            *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={host}"),
            *("-addext", f"subjectAltName=DNS:{host}", "-keyout", f"{name}.key", "-out", f"{name}.csr"),
        )
        openssl(
            folder,
            *("ca", "-config", "ca.cnf", "-batch", "-notext", "-cert", "ca.pem", "-keyfile", "ca.key", "-in", f"{name}.csr"),
            *("-startdate", start, "-enddate", end, "-out", f"{name}.pem"),
        )
    return folder


@pytest.fixture
def serve(certificates: Path) -> Iterator[Callable[..., FaultServer]]:
    running: list[FaultServer] = []

    def start(name: str, change: Callable[[ssl.SSLContext], Any] = lambda context: None) -> FaultServer:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates / f"{name}.pem", certificates / f"{name}.key")
        change(context)
        server = FaultServer(tls=context).__enter__()
        running.append(server)
        server.add("/page", reply(b"hello"))
        return server

    yield start
    for server in running:
        server.__exit__(None, None, None)


def loopback_names(host: str, port: int, **_: Any) -> list[Any]:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


@pytest.fixture
def trusting(make_fetcher: MakeFetcher, certificates: Path) -> HttpFetcher:
    """Trusts the test authority; every name is this machine."""
    return make_fetcher(AddressGuard(LOOPBACK.allow, loopback_names), ca_file=certificates / "ca.pem")


@pytest.fixture
def plain(make_fetcher: MakeFetcher) -> HttpFetcher:
    """Trusts the system's store only."""
    return make_fetcher(AddressGuard(LOOPBACK.allow, loopback_names))


def only_old(context: ssl.SSLContext) -> None:
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1


def test_the_pinned_address_is_asked_under_the_name_of_the_host(
    serve: Callable[..., FaultServer], trusting: HttpFetcher
) -> None:
    names: list[str | None] = []

    def note_name(context: ssl.SSLContext) -> None:
        context.sni_callback = lambda sock, name, _: names.append(name)

    server = serve("good", note_name)
    for _ in range(2):
        assert trusting.fetch(Request(server.url("/page", HOST))).response.body == b"hello"
    assert names == [HOST]
    assert server.log[0].headers["host"] == f"{HOST}:{server.port}"
    assert server.connections == 1


@pytest.mark.parametrize(
    ("certificate", "reason"), [("expired", "expired"), ("foreign", "another name"), ("self", "self-signed")]
)
def test_a_bad_certificate_is_refused_with_its_reason(
    serve: Callable[..., FaultServer], trusting: HttpFetcher, certificate: str, reason: str
) -> None:
    server = serve(certificate)
    error = failure(trusting, server.url("/page", HOST))
    assert (error.error_class, error.retryable) == (ErrorClass.TLS_ERROR, False)
    assert reason in error.message
    assert not server.log


def test_an_authority_nobody_trusts_is_refused(serve: Callable[..., FaultServer], plain: HttpFetcher) -> None:
    error = failure(plain, serve("good").url("/page", HOST))
    assert (error.error_class, "unknown authority" in error.message) == (ErrorClass.TLS_ERROR, True)


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_an_old_protocol_is_refused_even_without_verification(serve: Callable[..., FaultServer], trusting: HttpFetcher) -> None:
    server = serve("good", only_old)
    for verify in (True, False):
        error = failure(trusting, server.url("/page", HOST), verify_tls=verify)
        assert (error.error_class, "protocol" in error.message) == (ErrorClass.TLS_ERROR, True)


def test_verification_is_off_only_for_the_call_that_says_so(serve: Callable[..., FaultServer], plain: HttpFetcher) -> None:
    server = serve("self")
    assert plain.fetch(Request(server.url("/page", HOST)), verify_tls=False).response.body == b"hello"
    assert failure(plain, server.url("/page", HOST)).error_class is ErrorClass.TLS_ERROR


def test_plain_http_on_a_tls_url_is_a_protocol_refusal(plain: HttpFetcher) -> None:
    with FaultServer(greeting=b"HTTP/1.1 400 Bad Request\r\n\r\n") as server:
        error = failure(plain, f"https://{server.netloc}/page")
    assert (error.error_class, "protocol" in error.message) == (ErrorClass.TLS_ERROR, True)


def test_a_server_that_never_shakes_hands_times_out(make_fetcher: MakeFetcher) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"https://127.0.0.1:{mute.getsockname()[1]}/"
        assert failure(make_fetcher(connect_timeout=0.2), url).error_class is ErrorClass.TIMEOUT
        assert failure(make_fetcher(page_deadline=0.2), url).error_class is ErrorClass.DEADLINE


def test_an_unusable_ca_file_is_refused_by_name(make_fetcher: MakeFetcher, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="ca_file"):
        make_fetcher(ca_file=tmp_path / "absent.pem")
    (tmp_path / "empty.pem").write_text("no certificate")
    with pytest.raises(ValueError, match="ca_file"):
        make_fetcher(ca_file=tmp_path / "empty.pem")
