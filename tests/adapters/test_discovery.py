"""Adapters are found by file name; parameters are checked before anything is fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

from sources import adapters
from sources.adapters.base import Adapter, TargetInfo

TARGET = TargetInfo("qinghe-6", "http://www.qinghe.example/gkmlpt/index#6")


def test_every_file_of_the_package_but_the_contract_and_parts_is_an_adapter() -> None:
    files = {path.stem for path in Path(adapters.__file__).parent.glob("*.py")}
    assert set(adapters.adapter_ids()) == {name for name in files if name != "base" and not name.startswith("_")}
    assert "gkmlpt" in adapters.adapter_ids() and "selectors" in adapters.adapter_ids()


def test_a_new_file_is_a_new_adapter_without_any_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "brand_new.py").write_text("class Adapter:\n    id = 'brand_new'\n")
    (tmp_path / "misnamed.py").write_text("class Adapter:\n    id = 'other'\n")
    (tmp_path / "_part.py").write_text("")
    monkeypatch.setattr(adapters, "__path__", [*adapters.__path__, str(tmp_path)])
    assert adapters.get("brand_new").id == "brand_new"
    assert "_part" not in adapters.adapter_ids()
    with pytest.raises(TypeError, match="misnamed must define a class Adapter with id = 'misnamed'"):
        adapters.get("misnamed")


@pytest.mark.parametrize("name", ["gkmplt", "base", "_gkmlpt_article", "", "../gkmlpt", "gkmlpt.Adapter"])
def test_an_unknown_id_is_named_and_the_known_ones_are_listed(name: str) -> None:
    with pytest.raises(adapters.UnknownAdapter) as caught:
        adapters.get(name)
    assert repr(name) in str(caught.value)
    assert "gkmlpt, selectors" in str(caught.value)


def test_an_adapter_keeps_the_contract() -> None:
    assert isinstance(adapters.build("gkmlpt", {}, TARGET), Adapter)


def test_wrong_parameters_are_refused_field_by_field() -> None:
    with pytest.raises(adapters.InvalidParams) as caught:
        adapters.build("gkmlpt", {"column_id": "six", "colum": 6}, TARGET)
    assert len(caught.value.errors) == 2
    assert caught.value.errors[0].startswith("column_id: ") and caught.value.errors[0].endswith("got 'six'")
    assert caught.value.errors[1] == "colum: unknown key"
    assert "'gkmlpt'" in str(caught.value)


def test_a_target_that_an_adapter_cannot_work_for_is_refused_with_the_remedy() -> None:
    with pytest.raises(adapters.InvalidParams, match=r"base: .*give the URL before /gkmlpt"):
        adapters.build("gkmlpt", {}, TargetInfo("x", "gkmlpt/index"))
    with pytest.raises(adapters.InvalidParams, match=r"fragment of .* is no column number"):
        adapters.build("gkmlpt", {}, TargetInfo("x", "http://www.qinghe.example/gkmlpt/index#wj"))
