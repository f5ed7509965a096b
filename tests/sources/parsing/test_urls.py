"""One article, one spelling; and links resolved as browsers do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sources.parsing.urls import canonical_url, file_extension, host_key, resolve, url_hash

PAGE = "http://www.lanhe.example/zwgk/wj/index.html"


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("HTTP://WWW.Lanhe.Example/A.html", "http://www.lanhe.example/A.html"),
        ("http://lanhe.example:80/a.html#anchor", "http://lanhe.example/a.html"),
        ("https://lanhe.example:443/a", "https://lanhe.example/a"),
        ("https://lanhe.example:8443/a", "https://lanhe.example:8443/a"),
        ("http://lanhe.example", "http://lanhe.example/"),
        ("http://lanhe.example./a", "http://lanhe.example/a"),
        ("http://例子。中国/x", "http://xn--fsqu00a.xn--fiqs8s/x"),
        ("http://ｌａｎｈｅ．example/x", "http://lanhe.example/x"),
        ("http://lanhe.example/a/./b/../c//d.html", "http://lanhe.example/a/c/d.html"),
        ("http://lanhe.example/../../a/%2e%2e/b", "http://lanhe.example/b"),
        ("http://lanhe.example/a.jsp;jsessionid=AB12?id=3", "http://lanhe.example/a.jsp?id=3"),
        ("http://lanhe.example/a?utm_source=wx&id=3&utm_medium=x&", "http://lanhe.example/a?id=3"),
        ("http://lanhe.example/a?id=3&t=1710000000", "http://lanhe.example/a?id=3"),
        ("http://lanhe.example/a?t=12&from=timeline&isappinstalled=0", "http://lanhe.example/a?t=12"),
        ("http://lanhe.example/a?b=2&a=1", "http://lanhe.example/a?b=2&a=1"),
        ("http://lanhe.example/%e4%b8%ad?k=%b9%ab", "http://lanhe.example/%E4%B8%AD?k=%B9%AB"),
        ("http://lanhe.example/%b9%ab.html", "http://lanhe.example/%B9%AB.html"),
        ("http://lanhe.example/中 文.html", "http://lanhe.example/%E4%B8%AD%20%E6%96%87.html"),
        (
            "http://h.example/gkmlpt/content/4/4001/mpost_4001209.html",
            "http://h.example/gkmlpt/content/4/4001/post_4001209.html",
        ),
        ("http://h.example/zwgk/content/mpost_1.html", "http://h.example/zwgk/content/post_1.html"),
        (" http://lanhe.example/a\n.html ", "http://lanhe.example/a.html"),
        ("http://lanhe.example\\a\\b", "http://lanhe.example/a/b"),
    ],
)
def test_equal_spellings_have_one_canonical_url(url: str, canonical: str) -> None:
    assert canonical_url(url) == canonical
    assert url_hash(url) == url_hash(canonical)


def test_scheme_www_and_index_pages_are_not_merged() -> None:
    urls = ["http://x.example/", "https://x.example/", "http://www.x.example/", "http://x.example/index.html"]
    assert len({url_hash(url) for url in urls}) == 4


@pytest.mark.parametrize(
    "url", ["", "/a/b", "ftp://x.example/", "javascript:alert(1)", "http://", "http://[::1", "http://a b%/", "http://x:99999/"]
)
def test_what_is_no_web_address_is_refused_by_name(url: str) -> None:
    with pytest.raises(ValueError, match="URL"):
        canonical_url(url)


web_urls = st.builds(
    lambda scheme, host, path, query: f"{scheme}://{host}/{path}?{query}",
    st.sampled_from(["http", "HTTPS"]),
    st.sampled_from(["a.example", "例子.example", "A.Example:80", "a.example:8080", "[::1]:80"]),
    st.text(alphabet="ab./%2eE5;jsessionid=x中 \\post_1mcontent#\t", max_size=40),
    st.text(max_size=30) | st.text(alphabet="utm_=&?%aB中+t1;/", max_size=30),
)


@given(web_urls)
def test_the_canonical_url_of_a_canonical_url_is_itself(url: str) -> None:
    once = canonical_url(url)
    assert canonical_url(once) == once
    assert once.isascii()


@pytest.mark.parametrize(
    ("href", "resolved"),
    [
        ("./202403/t20240318_1.html", "http://www.lanhe.example/zwgk/wj/202403/t20240318_1.html"),
        ("../../zcjd/t1.html", "http://www.lanhe.example/zcjd/t1.html"),
        ("../../../../t1.html", "http://www.lanhe.example/t1.html"),
        ("//static.lanhe.example/a.png", "http://static.lanhe.example/a.png"),
        ("http://lanhe.example/a/../b.html", "http://lanhe.example/b.html"),
        (" ./a.html\n", "http://www.lanhe.example/zwgk/wj/a.html"),
        ("\u3000/a b.html", "http://www.lanhe.example/a%20b.html"),
        ("\\zwgk\\a.html", "http://www.lanhe.example/zwgk/a.html"),
        ("http:/a.html", "http://www.lanhe.example/a.html"),
        ("https:/lanhe.example/a.html", "https://lanhe.example/a.html"),
        ("http:// lanhe.example/a", "http://lanhe.example/a"),
        ("?page=2", "http://www.lanhe.example/zwgk/wj/index.html?page=2"),
        ("/文件/a.html?q=公告", "http://www.lanhe.example/%E6%96%87%E4%BB%B6/a.html?q=%B9%AB%B8%E6"),
        ("/a.jsp;jsessionid=X?id=3", "http://www.lanhe.example/a.jsp;jsessionid=X?id=3"),
        ("/a%b9%ab.html", "http://www.lanhe.example/a%b9%ab.html"),
        ("a.html#c", "http://www.lanhe.example/zwgk/wj/a.html#c"),
        ("javascript:void(0)", None),
        ("JavaScript:go()", None),
        ("mailto:a@b.example", None),
        ("data:text/html,x", None),
        ("tel:12345", None),
        ("#top", None),
        ("", None),
        ("  ", None),
        ("http://[::1", None),
        ("http://", None),
    ],
)
def test_links_of_a_gbk_page_resolve_as_in_a_browser(href: str, resolved: str | None) -> None:
    assert resolve(PAGE, href, "gb18030") == resolved


@given(st.text(max_size=60))
def test_any_link_resolves_to_an_ascii_web_address_or_nothing(href: str) -> None:
    url = resolve(PAGE, href)
    assert url is None or (url.isascii() and url.startswith(("http://", "https://")))


def test_hosts_are_told_apart_by_port() -> None:
    assert host_key("https://WWW.Lanhe.Example:443/a") == "www.lanhe.example"
    assert host_key("http://lanhe.example:8080/") == "lanhe.example:8080"


@pytest.mark.parametrize(
    ("url", "extension"),
    [
        ("http://x.example/a/P0202.PDF?x=1", "pdf"),
        ("http://x.example/module/download/downfile.jsp?classid=0&filename=01ab.docx", "docx"),
        ("http://x.example/a/", ""),
        ("http://x.example/v1.2/a", ""),
        ("http://x.example/a.tar.7z", "7z"),
    ],
)
def test_the_extension_of_a_file_is_found_in_path_or_parameter(url: str, extension: str) -> None:
    assert file_extension(url) == extension
