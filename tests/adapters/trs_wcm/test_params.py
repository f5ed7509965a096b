"""Parameters of the adapter: what is refused, and where a list goes on without a cursor."""

from __future__ import annotations

from typing import Any

import pytest

from sources import adapters
from sources.adapters.base import Adapter, TargetInfo

ENTRY = "http://www.qinghe.example/zwgk/zfwj/index.html"


def build(**params: Any) -> Adapter:
    return adapters.build("trs_wcm", params, TargetInfo("qinghe-wj", ENTRY))


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"row_selectr": "li"}, "row_selectr"),
        ({"row_selector": "li[["}, r"li\[\["),
        ({"external_links": "maybe"}, "external_links"),
        ({"pager": "guess"}, "pager"),
        ({"pager": {"form": "one_based", "page_url": "list.html"}}, r"must hold \{n\}"),
        ({"pager": {"form": "one_based", "page_url": "list_{n}.html", "pages": 0}}, "pages"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused_by_name(params: dict[str, Any], named: str) -> None:
    with pytest.raises(adapters.InvalidParams, match=named):
        build(**params)


def test_the_first_page_is_the_entry_and_a_cursor_is_its_own_page() -> None:
    assert build().list_request(1, None).url == ENTRY
    assert build().list_request(7, "http://www.qinghe.example/zwgk/zfwj/index_6.html").url.endswith("/index_6.html")


def test_a_later_page_without_cursor_needs_a_given_pager() -> None:
    with pytest.raises(ValueError, match="needs the cursor that page 2 gave"):
        build().list_request(3, None)
    zero, one = ({"form": form, "page_url": "index_{n}.html"} for form in ("zero_based", "one_based"))
    assert build(pager=zero).list_request(3, None).url == "http://www.qinghe.example/zwgk/zfwj/index_2.html"
    assert build(pager=one).list_request(3, None).url == "http://www.qinghe.example/zwgk/zfwj/index_3.html"
