"""What a page states about its article, in each of the containers it may use (source-systems 0.4 to 0.6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sources.parsing.dates import parse_date
from sources.parsing.html import find_body, parse_document
from sources.parsing.metadata import (
    Metadata,
    clean_doc_no,
    collect_metadata,
    doc_no_in_title,
    find_doc_no,
    from_pairs,
    meta_published,
    meta_tags,
    source_line,
    trust_clock,
    validity,
)

FOUR_CELLS = """<table class="bd1">
<tr><td><b>索&nbsp;引&nbsp;号：</b></td><td>7788/2024-00031</td><td><b>主题分类：</b></td><td>农业</td></tr>
<tr><td><b>发文机关：</b></td><td>青河市人民政府</td><td><b>成文日期：</b></td><td>2024年03月13日</td></tr>
<tr><td><b>标　　题：</b></td><td colspan="3">关于春耕的通知</td></tr>
<tr><td><b>发文字号：</b></td><td>青政发〔2024〕9号</td><td><b>发布日期：</b></td><td>2024年03月18日</td></tr>
<tr><td><b>主 题 词：</b></td><td>农业　春耕</td><td><b>有 效 性：</b></td><td>有效</td></tr></table>"""
SIX_CELLS = """<table><tr><th>索引号</th><td>7788/2024-00031</td><th>分类</th><td>农业</td>
<th>发布机构</th><td>青河市人民政府</td></tr>
<tr><th>生成日期</th><td>2024-03-13</td><th>名称</th><td>关于春耕的通知</td><th>文号</th><td>青政发〔2024〕9号</td></tr>
<tr><th>公开日期</th><td>2024-03-18</td><th>关键词</th><td>农业 春耕</td><th>时效</th><td>现行有效</td></tr></table>"""
TWO_CELLS = (
    "<table>"
    + "".join(
        f'<tr><td class="label">{label}</td><td class="value">{value}</td></tr>'
        for label, value in [
            ("索 引 号：", "7788/2024-00031"),
            ("分　　类：", "农业"),
            ("发布机构：", "青河市人民政府"),
            ("发文日期：", "2024-03-13"),
            ("名　　称：", "关于春耕的通知"),
            ("文　　号：", "青政发〔2024〕9号"),
            ("发布日期：", "2024-03-18"),
            ("主 题 词：", "农业 春耕"),
            ("有效性：", "有效"),
        ]
    )
    + "</table>"
)
PAIRS = {
    "索引号": "7788/2024-00031",
    "主题分类": "农业",
    "发文机关": "青河市人民政府",
    "成文日期": "2024年3月13日",
    "标题": "关于春耕的通知",
    "发文字号": "青政发〔2024〕9号",
    "发布日期": "2024-03-18",
    "主题词": "农业 春耕",
    "有效性": "有效",
}
DEFINITIONS = "<dl>" + "".join(f"<dt>{label}：</dt><dd>{value}</dd>" for label, value in PAIRS.items()) + "</dl>"
ITEMS = "<ul>" + "".join(f"<li>{label}：{value}</li>" for label, value in PAIRS.items()) + "</ul>"
MARKED_ITEMS = "<ul>" + "".join(f"<li><b>{label}：</b><span>{value}</span></li>" for label, value in PAIRS.items()) + "</ul>"
GRID = (
    '<div class="grid">'
    + "".join(f"<div><span>{label}</span><span>{value}</span></div>" for label, value in PAIRS.items())
    + "</div>"
)


@pytest.mark.parametrize("markup", [FOUR_CELLS, SIX_CELLS, TWO_CELLS, DEFINITIONS, ITEMS, MARKED_ITEMS, GRID])
def test_every_container_gives_the_same_fields(markup: str) -> None:
    meta = collect_metadata(parse_document(f"<html><body>{markup}</body></html>"))
    written, published = meta.date("written_on"), meta.date("published_on")
    assert written is not None
    assert published is not None
    assert (written.iso, published.iso) == ("2024-03-13", "2024-03-18")
    assert meta["index_no"] == "7788/2024-00031"
    assert meta["open_category"] == "农业"
    assert meta["publisher"] == "青河市人民政府"
    assert meta["title"] == "关于春耕的通知"
    assert meta["doc_no"] == "青政发〔2024〕9号"
    assert meta["topic_words"] == "农业 春耕"
    assert meta.is_effective is True


def test_the_raw_pairs_are_kept_under_their_labels_without_blanks() -> None:
    raw = collect_metadata(parse_document(FOUR_CELLS)).raw
    assert raw["索引号"] == "7788/2024-00031"
    assert raw["标题"] == "关于春耕的通知"
    assert len(raw) == 9


def test_the_issuer_is_preferred_to_the_publisher_and_that_to_the_source() -> None:
    assert from_pairs({"来源": "丙", "发布机构": "乙", "发文机关": "甲"})["publisher"] == "甲"
    assert from_pairs({"来源": "丙", "发布机构": "乙", "发文机关": "无"})["publisher"] == "乙"
    assert from_pairs({"来源": "丙"})["publisher"] == "丙"


def test_dates_are_not_substituted_for_one_another() -> None:
    meta = from_pairs({"成文日期": "2024-03-13", "实施日期": "2024-05-01", "废止日期": "无"})
    assert meta.date("published_on") is None
    assert meta.date("expiry_on") is None
    effective = meta.date("effective_on")
    assert effective is not None
    assert effective.iso == "2024-05-01"


@pytest.mark.parametrize("empty", ["", "无", "null", "undefined", "NULL", " 　", "-"])
def test_placeholders_are_empty_values(empty: str) -> None:
    meta = from_pairs({"文号": empty, "索引号": empty})
    assert dict(meta.fields) == {}
    assert (meta["doc_no"], meta["index_no"]) == ("", "")


def test_a_table_of_the_body_is_no_metadata() -> None:
    rows = "<tr><td>名称</td><td>化肥</td></tr><tr><td>分类</td><td>氮肥</td></tr>"
    doc = parse_document(f'{FOUR_CELLS}<div class="TRS_Editor"><table>{rows}</table></div>')
    meta = collect_metadata(doc, find_body(doc))
    assert meta["title"] == "关于春耕的通知"
    assert meta["open_category"] == "农业"


def test_a_page_without_known_labels_has_no_metadata() -> None:
    meta = collect_metadata(parse_document("<table><tr><td>地区</td><td>面积</td></tr></table><p>会议时间：三月</p>"))
    assert meta == Metadata()


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("有效", True),
        ("现行有效", True),
        ("失效", False),
        ("已废止", False),
        ("废止", False),
        ("", None),
        ("部分有效", None),
        ("拟废止", None),
    ],
)
def test_only_plain_words_state_validity(word: str, value: bool | None) -> None:
    assert validity(word) is value


@pytest.mark.parametrize(
    ("title", "number"),
    [
        ("关于印发规划的通知（青政发〔2024〕9号）", "青政发〔2024〕9号"),
        ("关于印发规划的通知(青政办函[2024]12号)", "青政办函[2024]12号"),
        ("青河市水库管理办法（市人民政府令第201号）", "市人民政府令第201号"),
        ("关于修改规章的决定（第320号令）", "第320号令"),
        ("关于《条例》（草案）", ""),
        ("补助资金分配表（PDF）", ""),
        ("关于青政发〔2024〕9号文件的说明", ""),
    ],
)
def test_a_number_in_the_title_counts_only_in_brackets_at_its_end(title: str, number: str) -> None:
    assert doc_no_in_title(title) == number


def test_a_document_number_stays_as_written() -> None:
    assert clean_doc_no("（青政发 〔2024〕 9号）") == "青政发〔2024〕9号"
    assert clean_doc_no("青政发[2024]9号") == "青政发[2024]9号"
    assert clean_doc_no("无") == ""
    assert find_doc_no("青政规【2024】4号") == "青政规【2024】4号"
    assert find_doc_no("根据青政规〔2024〕4号文件精神") == ""


def test_meta_tags_leave_out_placeholders_and_authors() -> None:
    tags = meta_tags(
        parse_document(
            '<meta name="SiteName" content="网站名称"><meta name="Author" content="某某">'
            '<meta name="ArticleTitle" content="关于春耕的通知">'
            '<meta name="PubDate" content="2024-03-18 09:26"><meta name="ContentSource" content="null"><meta charset="utf-8">'
        )
    )
    assert tags == {"articletitle": "关于春耕的通知", "pubdate": "2024-03-18 09:26"}
    published = meta_published(tags)
    assert published is not None
    assert published.iso == "2024-03-18T09:26"


def test_a_twelve_hour_clock_keeps_only_the_day() -> None:
    meta, shown = parse_date("2024-03-18 03:20:11"), parse_date("2024-03-18 15:20")
    assert meta is not None
    assert trust_clock(meta, shown).iso == "2024-03-18"
    assert trust_clock(meta, None).iso == "2024-03-18T03:20:11"


@pytest.mark.parametrize(
    ("markup", "published", "source"),
    [
        (
            '<div class="info">发布时间：2024-03-18 09:26　来源：市政府办公室　【字体：大 中 小】</div>',
            "2024-03-18 09:26",
            "市政府办公室",
        ),
        ("<p><span>来源：农业农村局</span><span>发布日期：2024年3月18日</span></p>", "2024年3月18日", "农业农村局"),
        ("<div>时间：2024-03-18 浏览次数：12</div>", "2024-03-18", ""),
        ('<div class="pages-date">2024-03-12 18:02 <span>来源：青河日报</span></div>', "", "青河日报"),
        ("<p>来源：null</p>", "", ""),
        ("<p>会议于三月召开。</p>", "", ""),
    ],
)
def test_the_line_under_the_title_tells_time_and_source(markup: str, published: str, source: str) -> None:
    line = source_line(parse_document(markup))
    assert line.published.startswith(published) and bool(line.published) == bool(published)
    assert line.source == source


@given(st.text(alphabet="索引号：:文发布日期 无()（）〔〕2024第号令<>/td", max_size=80))
def test_any_page_gives_metadata_without_error(content: str) -> None:
    doc = parse_document(f"<table><tr><td>索引号</td><td>{content}</td></tr></table><li>{content}</li><p>{content}</p>")
    collect_metadata(doc)
    source_line(doc)
    doc_no_in_title(content)


@pytest.mark.parametrize("other", "生成日期 成文日期 发文日期 实施日期 废止日期 失效日期 会议时间 截止时间".split())
def test_another_date_before_the_published_one_is_not_taken_for_it(other: str) -> None:
    doc = parse_document(f"<ul><li>{other}：2008年2月25日</li><li>发布日期：2008年3月7日</li></ul><p>正文。</p>")
    assert source_line(doc).published == "2008年3月7日"
    only = parse_document(f"<ul><li>{other}：2008年2月25日</li></ul><p>正文。</p>")
    assert source_line(only).published == ""


@pytest.mark.parametrize("label", ["时间", "日期", "时 间", "发布时间", "发布日期", "公开日期"])
def test_a_label_of_the_published_date_is_read(label: str) -> None:
    assert source_line(parse_document(f"<p>{label}：2008-03-07 来源：本站</p>")).published.startswith("2008-03-07")
