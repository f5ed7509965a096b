"""The columns of host B: posts of the disclosure catalogue with the states that its API knows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import Any

from deploy.demo import files, wording
from deploy.demo.model import CHINA, Article, Block, Column, File, FileLinks, Para, Picture
from deploy.demo.plan_trs import ZFB

SID = "799001"
CITY_FILES = 6
JUMPED_PARENT = 31
JUMPED_CHILD = 32
OVERVIEW = 20

FLAGS_UNSET_MEANS: bool | None = None
"""What ``is_expired`` and ``is_abolished`` both 0 say of validity: nothing, 0 is the default of the CMS."""

_PUBLISHERS = ("兰河市人民政府办公室", "兰河市人民政府", "兰河市财政局")
_GENRES = ("通知", "意见", "函", "方案")
_THEMES = ("城乡建设、环境保护", "财政、金融、审计", "市场监管、安全生产监管", "农业、林业、水利")
_VARIANTS = ("gk_full", "gk_full", "gk_detail_only", "gk_full", "gk_pdf_only", "gk_detail_only")


@dataclass(frozen=True, kw_only=True)
class External:
    """An API item of type ``url``: a link to another host, not an article of this one."""

    post_id: int
    title: str
    url: str
    published: datetime


@dataclass(frozen=True, kw_only=True)
class PostColumn:
    """A column of the catalogue: ``post_count`` is what the tree claims, the API lists ``articles`` and ``externals``."""

    column_id: int
    name: str
    post_count: int
    articles: tuple[Article, ...]
    externals: tuple[External, ...] = ()
    listed: bool = True


_CITY_TOPICS = (
    "城镇老旧小区改造 重点建设项目计划 临时摊点管理 年度预算调整 高标准农田建设 政务服务事项清单 城市更新专项规划 "
    "防汛抗旱应急预案 食品小作坊登记 历史建筑保护利用 公共机构节能 电动自行车停放 行政规范性文件清理 生活垃圾分类 "
    "小微企业贷款贴息 农村公路养护 校园周边交通组织 政府采购内控管理 河湖长制工作 养老服务设施布局 数字政府建设 "
    "古树名木保护 城市照明节能改造 乡村民宿发展 耕地地力补贴"
)
_SPECIAL_TOPICS = "招商引资优惠办法 产业园区准入 企业服务专员 投资项目代办 厂房租金补助 用工对接服务 外资项目奖励 总部经济认定"


def post_columns() -> list[PostColumn]:
    """All columns that hold posts, also the one that no target watches."""
    external = External(
        post_id=4001102,
        title="转发上级关于促进服务业高质量发展若干措施的通知",
        url="https://mp.weixin.qq.example/s/gkmlExternal01",
        published=datetime(2024, 2, 20, 17, 40, 10),
    )
    city = tuple(_post(at, topic, "市政府文件", CITY_FILES, 4001209, 11) for at, topic in enumerate(_CITY_TOPICS.split()))
    special = tuple(_post(at, topic, "招商专题", JUMPED_CHILD, 3998120, 13) for at, topic in enumerate(_SPECIAL_TOPICS.split()))
    overview = tuple(_post(at, topic, "机构概况", OVERVIEW, 3990050, 17) for at, topic in enumerate(("机构职能", "领导分工")))
    return [
        PostColumn(column_id=CITY_FILES, name="市政府文件", post_count=58, articles=city, externals=(external,)),
        PostColumn(column_id=JUMPED_CHILD, name="招商专题", post_count=len(special), articles=special),
        PostColumn(column_id=OVERVIEW, name="机构概况", post_count=2, articles=overview, listed=False),
    ]


def columns() -> list[Column]:
    """The two targets of host B."""
    return [
        Column(
            code=f"gk-{column.column_id}",
            adapter="gkmlpt",
            host="b",
            directory="/gkmlpt/",
            entry="/gkmlpt/index",
            name=column.name,
            department=ZFB,
            default_category=column.name,
            pager="api",
            style="api",
            articles=column.articles,
            skipped=tuple((external.url, "external") for external in column.externals),
            params={"column_id": column.column_id, "sid": SID},
        )
        for column in post_columns()
        if column.listed
    ]


def content_path(post_id: int) -> str:
    return f"/gkmlpt/content/{post_id // 1_000_000}/{post_id // 1_000}/post_{post_id}.html"


def epoch(moment: datetime) -> int:
    """Epoch seconds of a naive China time."""
    return int(moment.replace(tzinfo=CHINA).timestamp())


def _post(at: int, topic: str, channel: str, column_id: int, first_id: int, step: int) -> Article:
    post_id = first_id - step * at
    published = datetime(2024, 3, 15, 10, 12, 33) - timedelta(days=9 * at, minutes=(at * 41) % 400)
    if at % 8 == 3:
        published = datetime.combine(published.date(), time(0, 10, 5))
    signed = None if at % 7 == 5 else (published - timedelta(days=4 + at % 20)).date()
    publisher = _PUBLISHERS[at % 3]
    genre, theme = _GENRES[at % 4], _THEMES[at % 4]
    title = f"{publisher}关于{topic}有关事项的{genre}"
    attached = _files(at, post_id, topic)
    variant = _VARIANTS[at % len(_VARIANTS)]
    flags = {"is_expired": int(at % 9 == 4), "is_abolished": int(at % 9 == 2)}
    article = Article(
        host="b",
        path=content_path(post_id),
        template=variant,
        title=title,
        published=published,
        precision="second",
        department=ZFB,
        channel=channel,
        signed=signed,
        index_no=f"00700000{at % 3}/{published.year}-{at + 42:05d}"
        if at % 4 == 3
        else f"11449900007000001X/{published.year}-{(post_id % 1000):05d}",
        doc_no="" if at % 5 == 1 else f"兰府办〔{published.year}〕{40 - at}号",
        publisher=publisher,
        is_effective=False if any(flags.values()) else FLAGS_UNSET_MEANS,
        open_category=f"{theme}、{genre}" if variant == "gk_full" else "",
        native_id=str(post_id),
        gkmlpt={"id": post_id, "column": column_id, "genre": genre, "theme": theme, "is_top": int(at == 0), **flags},
    )
    return _with_body(article, at, topic, attached)


def _with_body(article: Article, at: int, topic: str, attached: tuple[File, ...]) -> Article:
    """``gk_pdf_only`` is one line and a link; elsewhere the first file is linked in the body, a second one only in the API."""
    if article.template == "gk_pdf_only":
        post_id = article.gkmlpt["id"]
        only = attached[:1] or (_file("b", 60000 + at, post_id, f"{topic}说明.pdf", "pdf"),)
        return replace(article, body=(Para(("请点击附件查看全文。",)), FileLinks("", only)))
    signed = article.signed or article.published.date()
    extra: list[Block] = [FileLinks("附件：", attached[:1])] if attached else []
    if at % 6 == 0:
        extra.append(Picture(f"/img/0/88/{88000 + at}/{article.gkmlpt['id']}.gif"))
    body = list(wording.body(f"gk:{article.gkmlpt['id']}", topic, article.publisher, signed, extra))
    if at % 6 == 2:
        body.insert(2, Para(("各项指标见下列对照表{表一}；如与“原方案”不一致, TREE: 以本文件为准。",)))
    return replace(article, body=tuple(body), outside_files=attached[1:])


def _files(at: int, post_id: int, topic: str) -> tuple[File, ...]:
    if at % 3 != 0:
        return ()
    one = _file("b", 88000 + post_id % 1000, post_id, f"附件1：{topic}任务清单.docx", "docx")
    host = "c" if at % 2 else "b"
    return one, _file(host, 87000 + post_id % 1000, post_id, f"附件2：{topic}资金测算表.pdf", "pdf")


def _file(host: str, file_id: int, post_id: int, name: str, ext: str) -> File:
    path = f"/attachment/{file_id // 1_000_000}/{file_id // 1_000}/{file_id}/{post_id}.{ext}"
    return File(host, path, name, files.make(ext, wording.file_lines(f"gk-{file_id}-{post_id}", name)))


def file_id(file: File) -> int:
    """The id that the path carries."""
    return int(file.path.split("/")[4])


def listing_order(column: PostColumn) -> list[Any]:
    """Articles and externals as the API lists them: newest first, the pinned one before all."""
    return sorted(
        [*column.articles, *column.externals],
        key=lambda entry: (isinstance(entry, Article) and entry.gkmlpt["is_top"], entry.published),
        reverse=True,
    )
