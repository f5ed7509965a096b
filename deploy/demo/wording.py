"""Invented official prose, chosen by fixed arithmetic: the same words on every machine and Python version."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import date

from deploy.demo.model import Block, Para, Table

SEED = "lanhe-2024"

_SENTENCES = (
    "明确责任分工，把{topic}纳入年度重点工作清单，由主要负责同志牵头，每月调度一次进展。",
    "完善工作台账，对{topic}涉及的事项逐项登记，做到底数清、情况明、数据准。",
    "加强部门协同，建立信息共享机制，及时研究解决{topic}推进过程中遇到的困难和问题。",
    "强化经费保障，统筹现有资金渠道支持{topic}，严禁挤占挪用，确保专款专用。",
    "注重宣传引导，通过政务新媒体、社区公告栏等方式解读{topic}有关要求，回应群众关切。",
    "严格督促检查，采取随机抽查与实地核查相结合的办法，对{topic}落实不力的单位予以通报。",
    "按时报送情况，请于每季度末月25日前将{topic}进展情况书面报送本单位办公室。",
    "坚持因地制宜，鼓励有条件的县（区）在{topic}方面先行先试，形成可复制的经验。",
    "守牢安全底线，开展{topic}风险隐患排查，发现问题立即整改，重大情况随时报告。",
    "优化办事流程，压缩{topic}办理时限，凡能网上办理的事项一律不要求群众重复提交材料。",
    "健全长效机制，认真总结{topic}的有效做法，适时修订完善配套制度。",
    "加强队伍建设，组织开展{topic}专题培训，培训情况记入个人学习档案。",
)
_OPENINGS = (
    "各县（区）有关单位，各直属单位：",
    "各有关单位：",
    "各县（区）人民政府，市有关部门：",
    "局机关各科室，各直属事业单位：",
)
_NUMERALS = "一二三四五六七八"
_AREAS = ("东城区", "西城区", "临江县", "清溪县")


def pick(key: str, options: Sequence[str]) -> str:
    """One of ``options``, always the same for the same key."""
    return options[number(key, len(options))]


def number(key: str, below: int) -> int:
    """A number in [0, below), always the same for the same key."""
    return int.from_bytes(hashlib.sha256(f"{SEED}:{key}".encode()).digest()[:4], "big") % below


def body(key: str, topic: str, publisher: str, signed: date, extra: Sequence[Block] = ()) -> tuple[Block, ...]:
    """An opening, a purpose, three to five numbered points, sometimes a table, a contact line, ``extra``, a signature."""
    start, count = number(f"{key}:start", len(_SENTENCES)), 3 + number(f"{key}:count", 3)
    points = [f"{_NUMERALS[at]}、{_SENTENCES[(start + at) % len(_SENTENCES)].format(topic=topic)}" for at in range(count)]
    blocks: list[Block] = [
        Para((pick(f"{key}:opening", _OPENINGS),)),
        Para((f"为扎实做好{topic}工作，经研究，现将有关事项通知如下。",)),
        Para((points[0], points[1])),
        *(Para((point,)) for point in points[2:]),
    ]
    if number(f"{key}:table", 3) == 0:
        blocks.append(_figures(key))
    phone = f"0799-2{number(f'{key}:phone', 1_000_000):06d}"
    blocks.append(Para((f"联系人：综合科　　联系电话：{phone}",)))
    blocks += [*extra, Para((publisher,), right=True), Para((f"{signed.year}年{signed.month}月{signed.day}日",), right=True)]
    return tuple(blocks)


def file_lines(key: str, title: str) -> list[str]:
    """Lines of an attachment's text."""
    amounts = [number(f"{key}:line:{at}", 900) + 100 for at in range(4)]
    return [title, f"编号 {key}", *(f"{area}  {amount}" for area, amount in zip(_AREAS, amounts, strict=True))]


def _figures(key: str) -> Table:
    rows = [("地区", "任务数（项）", "完成时限")]
    for at, area in enumerate(_AREAS[: 2 + number(f"{key}:rows", 3)]):
        rows.append((area, f"{number(f'{key}:cell:{at}', 400) / 10 + 1:.1f}", f"{6 + at}月底前"))
    return Table(tuple(rows))
