"""Walls, shells and soft 404 pages are told from articles that merely talk about them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from crawl.classify import Expected, Kind, Verdict, classify, signatures
from sources.adapters.base import Request, Response

URL = "http://www.lanhe.example/zwgk/202403/t20240318_100341.html"
PARAGRAPH = "各区人民政府，市政府各部门：为做好春季森林防火工作，经市人民政府同意，现就有关事项通知如下，请认真贯彻执行。"


def judge(
    body: str | bytes,
    *,
    expected: Expected = "detail",
    status: int = 200,
    headers: dict[str, str] | None = None,
    url: str = URL,
    final_url: str | None = None,
) -> Verdict:
    data = body.encode() if isinstance(body, str) else body
    shown = {"content-type": "text/html; charset=utf-8"} if headers is None else headers
    response = Response(Request(url), final_url or url, status, shown, data, datetime(2024, 3, 20, 2, tzinfo=UTC))
    return classify(response, expected=expected)


def page(body: str, title: str = "兰河市人民政府", head: str = "") -> str:
    return f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>{title}</title>{head}</head><body>{body}</body></html>'


JSL = "<script>document.cookie=('_')+('_')+('jsl_clearance_s=1711111111.5|-1|Zz%3D');location.href=location.pathname</script>"
JSL_SECOND = '<script>;go({"bts":["1711","|0|"],"chars":"abc","ct":"9f","ha":"sha1","tn":"__jsl_clearance_s"})</script>'
C3VK = '<html><head><script>document.cookie="C3VK=9f8e7d; path=/";window.location.reload();</script></head><body></body></html>'
DOLLAR_TS = page(
    "",
    "",
    '<meta id="k3" content="INVENTED" r="m"><script r="m">$_ts=window["$_ts"];if(!$_ts)$_ts={};$_ts.cd="INVENTED";</script>',
)


@pytest.mark.parametrize("expected", ["list", "detail", "file", "json"])
@pytest.mark.parametrize(
    ("name", "status", "body"),
    [
        ("jsl", 521, JSL),
        ("jsl_second_layer", 200, JSL_SECOND),
        ("521", 521, "<html><body>Web server is down</body></html>"),
        ("c3vk", 200, C3VK),
        ("rotating_cookie_412", 412, DOLLAR_TS),
        ("rotating_cookie_412", 412, ""),
        ("dollar_ts", 200, DOLLAR_TS),
        ("hoy_tr", 200, page("", "", '<script>var name="HOY_TR";document.cookie=name+"=ABCD";</script>')),
        ("edgeone", 403, page("<h1>Restricted Access</h1><p>reason:GeoBL</p><p>EdgeOne</p>", "403")),
        ("403", 403, "<html><body><center><h1>403 Forbidden</h1></center></body></html>"),
        ("web_firewall", 200, page("<h2>WEB 应用防火墙</h2><p>当前请求已记录。</p>", "提示")),
        ("request_intercepted", 200, page("<p>很抱歉，您的请求可能存在威胁，已被拦截。</p>", "访问受限")),
        ("request_intercepted", 200, page("<p>您的访问过于频繁，请稍后再试。</p>", "提示")),
        ("captcha", 200, page("<p>请输入验证码后继续访问</p><input type='text'>", "安全验证")),
    ],
)
def test_a_wall_is_a_block_page_whatever_was_asked_for(name: str, status: int, body: str, expected: Expected) -> None:
    verdict = judge(body, status=status, expected=expected)
    assert (verdict.kind, verdict.signature) == (Kind.BLOCK_PAGE, name)
    assert verdict.reason


def test_a_redirect_that_only_a_cookie_ends_is_a_block_page() -> None:
    verdict = judge("", status=302, headers={"location": URL, "set-cookie": "CT6T=a1b2; path=/"})
    assert (verdict.kind, verdict.signature) == (Kind.BLOCK_PAGE, "ct6t")


@pytest.mark.parametrize(
    "body",
    [
        page(
            '<div class="err">抱歉，您要访问的页面不存在或已被删除！5秒后返回首页。</div>',
            "提示信息",
            '<meta http-equiv="refresh" content="5;url=/">',
        ),
        page("<p>对不起，无法找到您请求的页面。</p>", "出错了"),
        page("<p>您访问的页面</p><p>走丢了</p>", "提示"),
        page("<h1>404 Not Found</h1><hr>nginx", "404 Not Found"),
        page("<p>该信息不存在</p>", ""),
        page("<ul>" + "<li><a href='/a/'>政务公开</a></li>" * 60 + "</ul><p>请稍后</p>", "404_兰河市人民政府"),
    ],
)
@pytest.mark.parametrize("expected", ["list", "detail"])
def test_a_short_page_that_says_not_found_is_a_soft_404(body: str, expected: Expected) -> None:
    assert judge(body, expected=expected).kind is Kind.SOFT_404


def test_the_home_page_served_as_an_article_is_a_soft_404() -> None:
    links = "".join(
        f'<li><a href="/c{n}/content.shtml">{name}</a></li>'
        for n, name in enumerate(["机构职能", "联系我们", "政策法规", "办事指南"])
    )
    home = page(f'<div class="nav"><a href="/">首页</a></div><ul>{links}</ul>', "示例监督管理局")
    assert judge(home, expected="detail").kind is Kind.SOFT_404
    assert judge(home, expected="list").kind is Kind.OK


def test_an_article_address_that_redirects_to_the_home_page_is_a_soft_404() -> None:
    body = page(f"<p>{PARAGRAPH}</p>" * 8)
    verdict = judge(body, final_url="http://www.lanhe.example/index.html")
    assert verdict.kind is Kind.SOFT_404
    assert "http://www.lanhe.example/index.html" in verdict.reason
    assert judge(body, final_url="https://www.lanhe.example/zwgk/202403/t20240318_100341.html").kind is Kind.OK


def test_a_login_page_is_a_login() -> None:
    form = page(
        '<form><label>用户名</label><input name="u"><label>密码</label><input type="password" name="p"></form>', "办事大厅"
    )
    assert judge(form).kind is Kind.LOGIN
    assert judge(page("<p>正在跳转到登录</p>", "统一身份认证平台"), expected="list").signature == "login_title"
    assert judge("", status=401).kind is Kind.LOGIN


def test_a_page_that_only_scripts_or_frames_could_fill_is_a_shell() -> None:
    app = page(
        '<noscript>请启用 JavaScript 后访问本网站的全部内容</noscript><div id="app"></div><script src="/js/app.js"></script>'
    )
    assert judge(app, expected="list").kind is Kind.SCRIPT_SHELL
    frame = page('<iframe src="/module/list/inner.html?col=12" width="100%"></iframe>', "公示公告")
    verdict = judge(frame, expected="list")
    assert verdict.kind is Kind.SCRIPT_SHELL
    assert "/module/list/inner.html?col=12" in verdict.reason


def test_an_empty_body_is_empty() -> None:
    assert judge("").kind is Kind.EMPTY
    assert judge(" \r\n ", expected="json").kind is Kind.EMPTY


@pytest.mark.parametrize(("status", "kind"), [(404, Kind.HTTP_ERROR), (500, Kind.HTTP_ERROR), (503, Kind.HTTP_ERROR)])
def test_an_error_status_that_no_signature_explains_is_an_http_error(status: int, kind: Kind) -> None:
    assert judge(page(f"<p>{PARAGRAPH}</p>" * 5), status=status).kind is kind


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", "detail"),
        (b"PK\x03\x04\x14\x00\x06\x00", "list"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00", "json"),
        (page(f"<h1>通知</h1><p>{PARAGRAPH}</p>").encode(), "file"),
        (page(f"<h1>通知</h1><p>{PARAGRAPH}</p>").encode(), "json"),
        (b"<?xml version='1.0'?><rss></rss>", "json"),
    ],
)
def test_another_type_than_asked_for_is_named(body: bytes, expected: Expected) -> None:
    verdict = judge(body, expected=expected, headers={})
    assert verdict.kind is Kind.WRONG_TYPE
    assert verdict.reason


@pytest.mark.parametrize(
    ("body", "expected", "content_type"),
    [
        (b'{"articles": [], "total": 0}', "json", "text/html"),
        (b'\xef\xbb\xbf[{"TITLE": "x"}]', "json", ""),
        (b'callback({"data": []})', "json", "text/javascript"),
        (b'{"articles": []}', "list", "application/json"),
        (b"<?xml version='1.0'?><rss><channel/></rss>", "list", "text/html"),
        (b"%PDF-1.7\n...", "file", "text/html"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00", "file", "application/octet-stream"),
        ("一份没有标记的文本文件".encode(), "file", "text/plain"),
    ],
)
def test_what_was_asked_for_is_ok_whatever_the_header_says(body: bytes, expected: Expected, content_type: str) -> None:
    assert judge(body, expected=expected, headers={"content-type": content_type}).ok


@pytest.mark.parametrize(
    "phrase", ["404", "页面不存在", "验证码", "您访问的页面", "请输入验证码", "您的请求已被拦截", "WEB 应用防火墙", "请登录"]
)
def test_a_long_article_that_quotes_the_words_of_a_wall_is_ok(phrase: str) -> None:
    text = f"<p>网站整改：发现“{phrase}”提示{phrase}的，应当在两个工作日内处理。</p>"
    assert judge(
        page("<h1>关于开展政府网站检查的通报</h1>" + text + f"<p>{PARAGRAPH}</p>" * 8, f"关于“{phrase}”问题整改情况的通报")
    ).ok


@pytest.mark.parametrize("phrase", ["404错误", "页面不存在", "请输入验证码", "访问过于频繁", "登录"])
def test_a_short_article_with_its_date_is_ok_though_it_quotes_the_words_of_a_wall(phrase: str) -> None:
    dated = page(
        f"<h1>关于“{phrase}”问题的答复</h1><p>2024年3月15日</p><p>已修复{phrase}的问题。</p>", f"关于“{phrase}”问题的答复"
    )
    assert judge(dated).ok
    tagged = page(f"<h1>答复</h1><p>已修复{phrase}的问题。</p>", "答复", '<meta name="ArticleTitle" content="答复">')
    assert judge(tagged).ok


def test_a_list_that_says_it_is_empty_is_ok() -> None:
    assert judge(page("<div class='nav'><a href='/'>首页</a></div><p>暂无信息</p>"), expected="list").ok
    assert judge(page("<p>没有找到相关文件</p>"), expected="list").ok


def test_an_article_that_is_one_line_and_its_files_is_ok() -> None:
    files = "".join(f'<p><a href="/attachment/0/87/{n}.pdf">附件{n}：预算公开表.pdf</a></p>' for n in range(1, 6))
    assert judge(page(f'<div class="article-content"><p>请点击附件查看全文。</p>{files}</div>')).ok


def test_an_article_that_forwards_to_another_page_is_left_to_its_adapter() -> None:
    target = "http://www.other.example/zwgk/202403/t20240314_55012.html"
    forward = page(
        f'<script>window.location.href="{target}";</script>', "", f'<meta http-equiv="refresh" content="0;url={target}">'
    )
    assert judge(forward).ok


def test_a_page_whose_content_stands_in_a_script_is_ok() -> None:
    tree = '[{"id": 5, "name": "政策文件", "children": [{"id": 6, "name": "市政府及办公室文件"}]}]'
    assert judge(
        page(f'<div id="app"></div><script>window._CONFIG = {{SID: "799001", TREE: {tree}}};</script>'), expected="list"
    ).ok
    escaped = json_escapes("政策文件、机构概况、专题专栏、人事信息")
    assert judge(page(f'<div id="app"></div><script>var rows = ["{escaped}"];</script>'), expected="list").ok


def test_old_pages_are_judged_in_their_own_encoding() -> None:
    head = '<meta http-equiv="Content-Type" content="text/html; charset=gb2312">'
    soft = f"<html><head>{head}<title>提示</title></head><body>您访问的页面不存在</body></html>".encode("gb18030")
    assert judge(soft, headers={"content-type": "text/html"}).kind is Kind.SOFT_404
    article = f"<html><head>{head}<title>通告</title></head><body><p>{PARAGRAPH}</p><p>二○○八年六月</p></body></html>".encode(
        "gb18030"
    )
    assert judge(article, headers={"content-type": "text/html"}).ok


def test_every_signature_states_a_condition_and_a_reason() -> None:
    walls = signatures().walls
    assert len({wall.name for wall in walls}) == len(walls)
    assert all(wall.reason and (wall.statuses or wall.body or wall.title) for wall in walls)
    assert all(wall.statuses or wall.max_bytes or wall.max_text for wall in walls), (
        "words without a length limit condemn articles"
    )


def json_escapes(text: str) -> str:
    return "".join(f"\\u{ord(char):04x}" for char in text)
