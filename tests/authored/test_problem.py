"""How problems look."""

from __future__ import annotations

from engine.authored.problem import Problem, did_you_mean, listed, render, render_all, render_for_github, width


def problem(**changes: object) -> Problem:
    fields: dict[str, object] = {"path": "a.yaml", "line": 3, "column": 5, "code": "FF203", "message": "wrong"}
    return Problem(**{**fields, **changes})  # type: ignore[arg-type]


def test_caret_stands_under_wide_characters() -> None:
    lines = render(problem(snippet='标题: "甲乙" x', column=5, length=4)).splitlines()
    assert width(lines[2].partition("| ")[2][:4]) == lines[3].partition("| ")[2].index("^")
    assert lines[3].count("^") == width('"甲乙"')


def test_long_line_is_cut_around_the_caret() -> None:
    snippet = "x" * 300 + "HERE" + "y" * 300
    lines = render(problem(snippet=snippet, column=301, length=4)).splitlines()
    start = lines[3].index("^")
    assert lines[2][start : start + 4] == "HERE"
    assert lines[2].endswith("…")
    assert all(width(line) < 125 for line in lines)


def test_control_characters_are_not_printed() -> None:
    text = render(problem(snippet="a\x1b[31mred\x07\tb"))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\t" not in text


def test_problem_of_a_whole_file_has_no_line() -> None:
    assert render(problem(line=0, column=0)).splitlines() == ["✘ FF203 wrong", "  --> a.yaml"]


def test_all_are_sorted_and_summed_up() -> None:
    found = [problem(line=9), problem(line=2, level="warning"), problem(path="B.yaml", line=5)]
    text = render_all(found)
    assert [line for line in text.splitlines() if "-->" in line] == [
        "  --> B.yaml:5:5",
        "  --> a.yaml:2:5",
        "  --> a.yaml:9:5",
    ]
    assert text.endswith("2 errors and 1 warning in 2 files\n")
    assert render_all(found[::-1]) == text
    assert render_all([]) == ""


def test_workflow_command() -> None:
    found = render_for_github(problem(message="50% wrong", help="a\nb"))
    assert found == "::error file=a.yaml,line=3,col=5,title=FF203::50%25 wrong; a%0Ab"


def test_did_you_mean() -> None:
    assert did_you_mean("befor", ["before", "after"]) == 'did you mean "before"?'
    assert did_you_mean("hosts.oom_kill", ["host.oom_kill"]) == 'did you mean "host.oom_kill"?'
    assert did_you_mean("zzz", ["before"]) == ""
    assert did_you_mean(3, ["before"]) == ""


def test_listed() -> None:
    assert listed(["b", "a"]) == "a, b"
    assert listed(map(str, range(20)), limit=2) == "0, 1 and 18 more"
