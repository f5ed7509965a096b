"""The columns of host A and the article that moved to host C: who published what, when, in which template, with which files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from deploy.demo import files, wording
from deploy.demo.model import Article, Block, Column, Department, File, FileLinks, Hosts, Para, Picture, Row, article_row

EDU = Department("edu", 3101, "兰河市教育局", "/edu/")
WSJ = Department("wsj", 3102, "兰河市卫生健康局", "/wsj/")
FGW = Department("fgw", 3103, "兰河市发展和改革局", "/fgw/")
ZFB = Department("zfb", 3100, "兰河市人民政府办公室", "")
DEPARTMENTS = (ZFB, EDU, WSJ, FGW)

FOREIGN = "http://www.other-ministry.example/zwgk/202403/t20240314_99012.html"
FOREIGN_MEDIA = "https://mp.weixin.qq.example/s/abcdEFGH0123"
DISALLOWED = "/fgw/zwgk/nbgl/"
SOFT_404 = "/edu/tzgg/202401/t20240105_20077.html"

_SHORT_NUMBER = {"edu": "兰教", "wsj": "兰卫", "fgw": "兰发改"}
_THEMES = {
    "edu": "科技、教育\\教育",
    "wsj": "卫生、体育\\卫生",
    "fgw": "国民经济管理、国有资产监管\\宏观经济",
}


@dataclass(frozen=True, kw_only=True)
class Series:
    """How the articles of one column are made: topics in list order (newest first), ids and dates counted downwards."""

    code: str
    department: Department
    channel: str
    directory: str
    template: str
    extension: str
    topics: str
    genre: str
    first_id: int
    newest: datetime
    step_days: int
    files_every: int = 3

    def article(self, at: int, topic: str) -> Article:
        """Article ``at`` of the series. Every fact follows from the position by fixed rules."""
        native = self.first_id - 7 * at
        published = self._published(at)
        signed = (published - timedelta(days=3 + at % 9)).date()
        path = f"{self.directory}{published:%Y%m}/t{published:%Y%m%d}_{native}.{self.extension}"
        attached = self._files(at, topic, published, path)
        inside = attached[:1] if self.template in ("dl", "plain") and len(attached) > 1 else attached
        inside = () if self.template == "plain" else inside
        extra: list[Block] = [FileLinks("附件：" if at % 2 else "", inside)] if inside else []
        if at % 5 == 4:
            extra.append(Picture(path.rsplit("/", 1)[0] + f"/W0{published:%Y%m%d}{native:012d}.gif"))
        name = self.department.name
        return Article(
            host="a",
            path=path,
            template=self.template,
            title=f"{name}关于{topic}的{self.genre}",
            published=published,
            precision={"table": "second", "meta": "second", "dl": "minute"}.get(self.template, "day"),
            department=self.department,
            channel=self.channel,
            native_id=None if self.template == "plain" else str(native),
            body=wording.body(f"{self.code}:{at}", topic, name, signed, extra),
            outside_files=tuple(file for file in attached if file not in inside),
            **self._stated(at, native, published, signed),
        )

    def _published(self, at: int) -> datetime:
        """Working hours, but one article in seven shortly after midnight in China: the day before in UTC."""
        minutes = 15 if at % 7 == 2 else 8 * 60 + (at * 67 + 26) % 560
        return self.newest - timedelta(days=self.step_days * at) + timedelta(minutes=minutes)

    def _stated(self, at: int, native: int, published: datetime, signed: Any) -> dict[str, Any]:
        """The metadata that the template shows; what it does not show stays empty."""
        doc_no = "" if at % 4 == 3 else f"{_SHORT_NUMBER[self.department.code]}〔{published.year}〕{native // 7 % 1000}号"
        index = f"00701{self.department.oa_id}/{published.year}-{native % 1000:05d}"
        if self.template == "meta":
            return {"publisher": self.department.name, "source": self.department.name}
        source = self.department.name.removeprefix("兰河")
        shown: dict[str, Any] = {"signed": signed, "index_no": index, "doc_no": doc_no, "publisher": self.department.name}
        if self.template in ("table", "dl"):
            validity, state = (("有效", True), ("废止", False), ("", None), ("有效", True), ("失效", False))[at % 5]
            shown |= {"source": source, "validity": validity, "is_effective": state}
            shown |= {"open_category": _THEMES[self.department.code]}
        if self.template == "plain":
            del shown["signed"]
        return shown

    def _files(self, at: int, topic: str, published: datetime, path: str) -> tuple[File, ...]:
        if at % self.files_every != 1:
            return ()
        count = 2 if at % 2 else 1
        return tuple(self._file(at, copy, topic, published, path) for copy in range(count))

    def _file(self, at: int, copy: int, topic: str, published: datetime, path: str) -> File:
        ext = ("pdf", "docx", "xlsx")[(at // self.files_every + copy) % 3]
        key = f"{self.code}-{at}-{copy}"
        folder = path.rsplit("/", 1)[0]
        serial = f"{wording.number(key, 10**9):012d}"
        letter = "P" if ext == "pdf" else "W"
        on_c = self.template == "meta" and at % 2 == 1
        where = f"/files/{published:%Y%m}/{serial}.{ext}" if on_c else f"{folder}/{letter}0{published:%Y%m%d}{serial}.{ext}"
        name = f"附件{copy + 1}：{topic}{('情况表', '任务分解表')[copy]}.{ext}"
        return File("c" if on_c else "a", where, name, files.make(ext, wording.file_lines(key, name)))

    def articles(self) -> tuple[Article, ...]:
        return tuple(self.article(at, topic) for at, topic in enumerate(self.topics.split()))


EDU_POLICY = Series(
    code="edu-zcwj", department=EDU, channel="政策文件", directory="/edu/zwgk/zcwj/", template="table", extension="html",
    genre="通知", first_id=100341, newest=datetime(2024, 3, 18), step_days=6,
    topics="做好2024年义务教育阶段招生入学工作 加强中小学校园食品安全管理 规范校外培训机构预收费监管 推进学前教育普及普惠 "
    "开展“书香校园”创建活动 调整普通高中学业水平考试安排 落实家庭经济困难学生资助政策 加强学校体育设施开放管理 "
    "做好春季学期学生健康体检 推广智慧课堂应用试点 开展教师职业道德专题学习 规范中小学生竞赛活动管理 "
    "加强寄宿制学校宿舍管理 组织参加“科技&创新”青少年展示活动 做好特殊教育资源教室建设",
)  # fmt: skip
EDU_NOTICES = Series(
    code="edu-tzgg", department=EDU, channel="通知公告", directory="/edu/tzgg/", template="dl", extension="shtml",
    genre="公告", first_id=201900, newest=datetime(2024, 3, 15), step_days=5,
    topics="教师资格认定有关事项 中等职业学校专业设置备案结果 民办学校年度检查结论 幼儿园等级评定结果 高考报名信息确认 "
    "语言文字达标学校名单 中小学教学用书目录 校车服务单位资质 学校安全风险等级 研学实践基地名单 青少年科技创新大赛获奖名单 "
    "社区教育示范街道名单 自学考试课程安排 普通话水平测试安排",
)  # fmt: skip
EDU_EXAMS = Series(
    code="edu-zsks", department=EDU, channel="招生考试", directory="/edu/zsks/", template="table", extension="html",
    genre="公示", first_id=301500, newest=datetime(2024, 3, 12), step_days=8,
    topics="体育特长生专业测试合格考生名单 艺术类招生计划 高中阶段学校招生加分资格 优惠录取资格审查结果 中职自主招生录取结果 "
    "定向师范生拟录取名单 外语口语考试考点设置 高考体检医院名单 成人高考报名点设置",
)  # fmt: skip
WSJ_NEWS = Series(
    code="wsj-gzdt", department=WSJ, channel="工作动态", directory="/wsj/gzdt/", template="meta", extension="shtml",
    genre="情况通报", first_id=402300, newest=datetime(2024, 3, 17), step_days=4,
    topics="基层医疗机构服务能力提升 家庭医生签约服务 无偿献血宣传 春季传染病防控 老年人健康管理 妇幼保健服务 职业病防治宣传周 "
    "医疗废物规范处置 中医药适宜技术推广 急救技能进社区 健康县区建设 疫苗冷链管理",
)  # fmt: skip
WSJ_PUBLIC = Series(
    code="wsj-gsgg", department=WSJ, channel="公示公告", directory="/wsj/gsgg/", template="meta", extension="html",
    genre="公示", first_id=503100, newest=datetime(2024, 3, 14), step_days=7, files_every=2,
    topics="医疗机构设置审批 放射诊疗许可延续 公共场所卫生量化分级 饮用水卫生监督抽检结果 二次供水单位检查结果 "
    "托育机构备案名单 医师定期考核结果 护士执业注册信息 消毒产品抽检结果 集中空调通风系统抽检结果 "
    "乡村医生在岗培训名单 互联网诊疗备案",
)  # fmt: skip
WSJ_OLD = Series(
    code="wsj-lsgb", department=WSJ, channel="历史公报", directory="/wsj/lsgb/", template="li", extension="htm",
    genre="通告", first_id=9120, newest=datetime(2008, 6, 3), step_days=11,
    topics="朱镕纪念医院周边道路临时管制 㛃水社区卫生服务站迁址 夏季肠道门诊开设 公共场所控烟管理 卫生许可证换发 "
    "爱国卫生月活动安排 餐具集中消毒单位名单 农村改水改厕进度 灭鼠药物统一投放",
)  # fmt: skip
FGW_POLICY = Series(
    code="fgw-zcfb", department=FGW, channel="政策发布", directory="/fgw/zwgk/zcfb/", template="meta", extension="shtml",
    genre="实施意见", first_id=2730572, newest=datetime(2024, 3, 13), step_days=5,
    topics="推进工业领域设备更新 促进服务业扩大投资 完善居民阶梯电价 规范停车服务收费 支持民间投资项目 优化项目审批流程 "
    "推动绿色低碳产业发展 加强粮食应急保供 建设社会信用体系 完善天然气价格联动",
)  # fmt: skip
FGW_READING = Series(
    code="fgw-jdhy", department=FGW, channel="解读回应", directory="/fgw/jdhy/", template="dl", extension="html",
    genre="政策解读", first_id=604200, newest=datetime(2024, 3, 16), step_days=6,
    topics="重大项目谋划储备办法 企业投资项目核准备案 招标投标信用评价 价格认定工作规程 以工代赈项目管理 公共资源交易目录 "
    "节能审查实施细则 充电设施建设规划 县域商业体系建设 物流降本增效措施",
)  # fmt: skip
FGW_PROJECTS = Series(
    code="fgw-xmgs", department=FGW, channel="项目公示", directory="/fgw/xmgs/", template="plain", extension="html",
    genre="批复", first_id=705100, newest=datetime(2024, 3, 11), step_days=9,
    topics="临江污水处理厂扩建工程可行性研究报告 清溪水库除险加固工程初步设计 东城停车楼项目建议书 西城老旧管网改造工程 "
    "市人民医院门诊楼改造工程 高新区标准厂房二期项目 环城绿道提升工程 北站广场综合改造工程 数字档案馆建设项目",
)  # fmt: skip


def columns(hosts: Hosts) -> list[Column]:
    """All columns of host A. Absolute URLs in rows need ``hosts``."""
    reading = _reading()
    return [
        _edu_policy(hosts),
        _edu_notices(),
        _column(EDU_EXAMS, pager="client_side", style="flags", page_size=100, hidden=2),
        _wsj_news(),
        _wsj_public(hosts),
        _column(WSJ_OLD, pager="create_page", style="whole", page_size=5, encoding="gb18030"),
        _fgw_policy(reading.articles[1]),
        reading,
        replace(_column(FGW_PROJECTS, pager="next_link", style="table", page_size=4), adapter="selectors"),
    ]


def _column(series: Series, *, pager: str, style: str, hidden: int = 0, first: str = "index", **changes: Any) -> Column:
    articles = series.articles()
    rows = [article_row(article, doc_no=article.doc_no) for article in articles]
    unseen = [
        replace(row, href=row.href.replace("/t20", "/ht20"), title=f"（内部）{row.title}", hidden=True) for row in rows[:hidden]
    ]
    for at, row in enumerate(unseen):
        rows.insert(3 + 3 * at, row)
    entry = {"six_one_based": "list_zw_wj", "total_data": "index_pc_1", "next_link": "list_1"}.get(pager, first)
    return Column(
        code=series.code,
        adapter="trs_wcm",
        host="a",
        directory=series.directory,
        entry=f"{series.directory}{entry}.{series.extension}",
        name=series.channel,
        department=series.department,
        default_category=series.channel,
        pager=pager,
        style=style,
        extension=series.extension,
        articles=articles,
        rows=tuple(rows),
        skipped=tuple((row.href, "hidden") for row in unseen),
        **changes,
    )


def _insert(rows: Sequence[Row], *places: tuple[int, Row]) -> tuple[Row, ...]:
    mixed = list(rows)
    for at, row in places:
        mixed.insert(at, row)
    return tuple(mixed)


def _edu_policy(hosts: Hosts) -> Column:
    """Pinned and marked on each page, a foreign host, a PDF as a row, a moved article, an article again with an anchor."""
    column = _column(EDU_POLICY, pager="zero_based", style="titled", page_size=7)
    pinned, articles = column.articles[-1], list(column.articles)
    articles[3] = replace(articles[3], body=(*articles[3].body[:2], _cited(), *articles[3].body[2:]))
    moved = articles[7]
    new_path = f"/zwgk/{moved.published:%Y%m}/t{moved.published:%Y%m%d}_{moved.native_id}.html"
    articles[7] = replace(moved, host="c", path=new_path, moved_from=moved.path)
    pdf = _pdf_row()
    rows = [article_row(article) for article in articles[:-1]]
    second = replace(rows[1], href=hosts.url("a", rows[1].href))
    again = replace(rows[1], href=rows[1].href + "#comment")
    foreign = Row(href=FOREIGN, title="国家有关部门关于加强校园安全工作的指导意见", published=datetime(2024, 3, 14))
    rows[1] = second
    return replace(
        column,
        articles=(*articles, pdf),
        rows=_insert(rows, (2, foreign), (4, article_row(pdf)), (9, again)),
        repeated=(article_row(pinned, pinned=True),),
        skipped=((FOREIGN, "foreign_host"),),
    )


def _cited() -> Para:
    """A hard negative: another document's number and validity, in a document that has no number itself."""
    return Para(("按照《兰河市教育督导办法》（兰府办〔2019〕3号）的要求，《兰河市教育督导暂行规定》同时废止。",))


def _pdf_row() -> Article:
    title = "兰河市2024年义务教育学校划片范围表（PDF）"
    path = "/edu/zwgk/zcwj/202403/P020240312401234567890.pdf"
    file = File("a", path, title, files.pdf(wording.file_lines("edu-zcwj-pdf", title)))
    return Article(
        host="a", path=path, template="file", title=title, published=datetime(2024, 3, 12), precision="day",
        department=EDU, channel=EDU_POLICY.channel, outside_files=(file,),
    )  # fmt: skip


def _edu_notices() -> Column:
    column = _column(EDU_NOTICES, pager="six_one_based", style="whole", page_size=6)
    gone = Row(href=SOFT_404, title="兰河市教育局关于校服采购信息的公告", published=datetime(2024, 1, 5))
    return replace(column, rows=_insert(column.rows, (8, gone)), failed=(SOFT_404,))


def _wsj_news() -> Column:
    """Pinned without any mark, a row that leads to a media platform."""
    column = _column(WSJ_NEWS, pager="count_page", style="date_first", page_size=5)
    media = Row(href=FOREIGN_MEDIA, title="健康科普：怎样正确洗手", published=datetime(2024, 3, 1))
    return replace(
        column,
        rows=_insert(column.rows[:-1], (6, media)),
        repeated=column.rows[-1:],
        skipped=((FOREIGN_MEDIA, "foreign_host"),),
    )


def _wsj_public(hosts: Hosts) -> Column:
    """The same file at two articles: equal bytes under two URLs."""
    column = _column(WSJ_PUBLIC, pager="total_data", style="whole", page_size=5)
    articles = list(column.articles)
    form = files.docx(wording.file_lines("wsj-form", "公示意见反馈表"))
    for at in (0, 2):
        folder = articles[at].path.rsplit("/", 1)[0]
        file = File("a", f"{folder}/W0{articles[at].published:%Y%m%d}990000000001.docx", "公示意见反馈表.doc", form)
        articles[at] = replace(articles[at], outside_files=(file,))
    return replace(column, articles=tuple(articles))


def _fgw_policy(shared: Article) -> Column:
    """Rows exist as script variables only; FILENUM alone states the number. One row is another column's article."""
    column = _column(FGW_POLICY, pager="zero_based", style="writeln", page_size=6)
    articles = [
        replace(article, doc_no="" if at % 3 == 2 else f"兰发改规〔{article.published.year}〕{12 - at}号")
        for at, article in enumerate(column.articles)
    ]
    rows = _insert([article_row(article) for article in articles], (4, article_row(shared)))
    return replace(column, articles=(*articles, shared), rows=rows)


def _reading() -> Column:
    """One row leads below a path that robots.txt disallows."""
    column = _column(FGW_READING, pager="three_numbers", style="titled", page_size=6)
    inner = Row(href=f"{DISALLOWED}202402/t20240219_30099.html", title="内部管理制度汇编", published=datetime(2024, 2, 19))
    return replace(column, rows=_insert(column.rows, (7, inner)), refused=(inner.href,))
