"""Object literals in scripts are cut by a scanner that knows strings and comments."""

from __future__ import annotations

import pytest

from sources.parsing.script_values import assigned_object, literal


def test_members_are_cut_at_their_own_ends_only() -> None:
    source = r"""
        var other = {A: 1};
        window._CONFIG = {
            // A: {'not this'}
            TEXT: 'a } b { c, A: "x" \' still',
            "A": {"list": [1, {"b": "}],"}], "s": "\"quoted\""},
            /* B: 9, } */ B: [`t } ${x}`, "//no comment"],
            LAST: 'z',
        };
        other = {A: 2};"""
    members = assigned_object(source, "_CONFIG")
    assert members is not None
    assert list(members) == ["TEXT", "A", "B", "LAST"]
    assert literal(members["A"]) == {"list": [1, {"b": "}],"}], "s": '"quoted"'}
    assert literal(members["TEXT"]) == 'a } b { c, A: "x" \' still'
    assert literal(members["LAST"]) == "z"


def test_a_name_is_matched_whole_and_must_be_assigned_an_object() -> None:
    assert assigned_object("MY_CONFIG = {A: 1}", "_CONFIG") is None
    assert assigned_object("_CONFIG = load();", "_CONFIG") is None
    assert assigned_object("_CONFIG={}", "_CONFIG") == {}


@pytest.mark.parametrize("source", ["_CONFIG = {A: [1, 2}", "_CONFIG = {A: {", '_CONFIG = {A: "open', "_CONFIG = {A: (1]}"])
def test_a_literal_that_does_not_end_or_pair_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match=r"does not end|unpaired"):
        assigned_object(source, "_CONFIG")


def test_values_are_json_or_quoted_strings() -> None:
    assert literal(r"'\u6e05\x41\n\ud83d\ude00\/'") == "清A\n😀/"
    assert literal('{"a": "tab\there"}') == {"a": "tab\there"}
    assert literal("0") == 0
    with pytest.raises(ValueError, match="property name"):
        literal("{a: 1}")


def test_a_long_literal_is_read_in_one_pass() -> None:
    body = "\\u003Cp\\u003E" * 50_000
    members = assigned_object(f'_CONFIG = {{DETAIL: {{"content": "{body}"}}, TREE: []}}', "_CONFIG")
    assert members is not None
    assert literal(members["DETAIL"])["content"].count("<p>") == 50_000
