from __future__ import annotations

from typing import Any

import pytest

from engine.facts.manifest import Manifest
from engine.facts.model import Fact, Observation, Span
from engine.facts.retries import RetryWindows, classify, read_windows
from tests.facts.building import PROFILES, SECOND, facts, micros, seen, utc

KIND = "comm.transport_retry_exceeded"
WINDOWS = read_windows(PROFILES["nccl_retry_windows"])
REPORT = "2026-03-01T10:00:00"
CLOCKS = Manifest("x", clock_hosts=dict.fromkeys(("n1", "n2", "n5", "n7"), (0, 1000)))


def retry(stamp: str = REPORT, adapter: str = "nccl_ib/completion-retry-exceeded-long", **given: Any) -> Observation:
    given.setdefault("path", "log")
    given.setdefault("line", 100)
    item = seen(
        KIND, given.pop("path"), given.pop("line"), when=utc(stamp), status=12, **{"host": "n1", "rank": 3, **given}
    )
    item.adapter = adapter
    item.lag = (SECOND // 2, 35 * SECOND)
    return item


def version(text: str, host: str | None = "n1", component: str = "nccl") -> Observation:
    return seen("comm.version", "versions", 1, host=host, component=component, version=text)


def setting(name: str, number: int, host: str | None = "n1", line: int = 1) -> Observation:
    return seen("comm.env", f"env {host}", line, host=host, name=name, value=str(number), number=number)


def only(*items: Observation) -> Fact:
    found = facts(*items, manifest=CLOCKS)[KIND]
    assert len(found) == 1
    return found[0]


def window_of(fact: Fact) -> tuple[float, float]:
    """Seconds from onset to report: least and most."""
    report = micros(REPORT)
    assert fact.local.earliest is not None
    assert fact.local.latest is not None
    return (report - fact.local.latest) / SECOND, (report - fact.local.earliest) / SECOND


# --- the window ---


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ("2.8.4", (0.5, 1.5)),
        ("2.13.4", (0.5, 1.5)),
        ("2.14.3", (8, 10)),
        ("2.22.3", (8, 10)),
        ("2.23.4", (30, 35)),
        ("2.30.7", (30, 35)),
    ],
)
def test_the_window_is_that_of_the_version(stated: str, expected: tuple[float, float]) -> None:
    fact = only(version(stated), retry())
    assert window_of(fact) == expected
    assert (fact.fields["window_s"], fact.fields["window_basis"]) == (expected[1], "version")


def test_rccl_prints_the_lines_of_nccl_and_has_a_window_of_its_own() -> None:
    assert window_of(only(version("2.23.4", component="rccl"), retry())) == (8, 10)


def test_settings_override_the_default_of_the_version() -> None:
    fact = only(version("2.21.5"), setting("NCCL_IB_TIMEOUT", 22), retry())
    least, most = window_of(fact)
    assert least < 137.4 < most < 180
    assert fact.fields["window_basis"] == "settings"


def test_the_number_of_retries_counts_as_well() -> None:
    least, most = window_of(only(version("2.21.5"), setting("NCCL_IB_RETRY_CNT", 3), retry()))
    assert least < 4.3 < most < 8


def test_a_host_whose_settings_are_listed_has_the_default_where_it_is_not_among_them() -> None:
    other = setting("NCCL_IB_TIMEOUT", 22, host="n2")
    fact = only(version("2.21.5"), setting("NCCL_IB_TC", 106), other, retry())
    assert window_of(fact) == (8, 10)
    assert fact.fields["window_basis"] == "settings"


def test_a_host_without_list_may_have_the_default_or_what_others_have() -> None:
    fact = only(version("2.21.5"), setting("NCCL_IB_TIMEOUT", 22, host="n2"), retry())
    least, most = window_of(fact)
    assert least == 8
    assert most > 137


def test_a_setting_of_the_job_holds_on_every_host() -> None:
    least, _ = window_of(only(version("2.21.5"), setting("NCCL_IB_TIMEOUT", 22, host=None), retry()))
    assert least > 100


@pytest.mark.parametrize("timeout", [0, 32, -1])
def test_a_timeout_that_waits_for_ever_or_cannot_be_leaves_the_lag_of_the_line(timeout: int) -> None:
    fact = only(version("2.21.5"), setting("NCCL_IB_TIMEOUT", timeout), retry())
    assert window_of(fact) == (0.5, 35)
    assert "window_s" not in fact.fields


def test_two_versions_give_both_windows() -> None:
    assert window_of(only(version("2.13.4", host="n2"), version("2.21.5", host="n3"), retry())) == (0.5, 10)


def test_the_version_of_the_host_itself_counts_first() -> None:
    assert window_of(only(version("2.13.4", host="n2"), version("2.21.5"), retry())) == (8, 10)


def test_an_installed_package_counts_where_the_library_printed_nothing() -> None:
    package = seen("host.software", "pip", 1, name="nvidia-nccl-cu12", version="2.21.5")
    assert window_of(only(package, retry())) == (8, 10)
    assert window_of(only(package, version("2.27.3"), retry())) == (30, 35)


def test_without_any_version_the_window_is_wide() -> None:
    fact = only(retry())
    assert window_of(fact) == (0.5, 35)
    assert fact.fields["window_basis"] == "unknown"


def test_settings_without_version_leave_every_default_of_the_other_number() -> None:
    assert window_of(only(setting("NCCL_IB_TIMEOUT", 20), retry()))[1] > 34


@pytest.mark.parametrize("adapter", ["ucx/retry-exceeded", "ofi/remote-stopped-answering", ""])
def test_lines_of_other_libraries_keep_their_lag(adapter: str) -> None:
    fact = only(version("2.21.5"), retry(adapter=adapter))
    assert window_of(fact) == (0.5, 35)
    assert "window_s" not in fact.fields


def test_hccl_has_settings_of_its_own() -> None:
    line = "hccl/completion-retry"
    assert window_of(only(setting("NCCL_IB_TIMEOUT", 22), retry(adapter=line))) == (0.5, 35)
    assert window_of(only(setting("HCCL_RDMA_TIMEOUT", 14), retry(adapter=line)))[1] < 3


def test_versions_of_another_run_say_nothing() -> None:
    old = version("2.13.4")
    old.run = "prev"
    assert only(old, retry()).fields["window_basis"] == "unknown"


# --- what came before ---


def ended(stamp: str, kind: str = "job.process_exit", **given: Any) -> Observation:
    given = {"host": "n2", "rank": 9, "signal": 9, **given}
    return seen(kind, "launcher", 1, when=utc(stamp), lag=(0, 0), **given)


def test_an_end_inside_the_window_may_have_begun_the_retries() -> None:
    assert only(version("2.21.5"), ended("2026-03-01T09:59:51"), retry()).fields["ended_rank"] == 9


@pytest.mark.parametrize(
    ("stamp", "given"),
    [
        ("2026-03-01T09:59:30", {}),  # certainly before the window: propagation says so
        ("2026-03-01T10:00:05", {}),  # after the report
        ("2026-03-01T09:59:51", {"host": "n1", "rank": 3}),  # the rank itself
        ("2026-03-01T09:59:51", {"signal": 15}),  # stopped by others
        ("2026-03-01T09:59:51", {"host": None, "rank": None}),  # nobody knows whose
    ],
)
def test_other_ends_have_not(stamp: str, given: dict[str, Any]) -> None:
    fact = only(version("2.21.5"), ended(stamp, **given), retry())
    assert not {"ended_rank", "ended_host"} & fact.fields.keys()


def test_an_end_of_which_only_the_host_is_known() -> None:
    kill = ended("2026-03-01T09:59:51", "host.oom_kill", rank=None, signal=9)
    fact = only(version("2.21.5"), kill, retry())
    assert fact.fields["ended_host"] == "n2"


def test_an_end_within_the_retries_counts_only_where_the_settings_are_not_known() -> None:
    end = ended("2026-03-01T09:59:55")
    assert only(version("2.21.5"), end, retry()).fields["ended_rank"] == 9
    assert "ended_rank" not in only(version("2.21.5"), setting("NCCL_IB_TC", 106), end, retry()).fields


def test_the_end_of_a_rank_that_had_complained_itself_is_an_answer() -> None:
    own = retry("2026-03-01T09:59:49", host="n2", rank=9, path="other")
    found = facts(version("2.21.5"), own, ended("2026-03-01T09:59:51"), retry(), manifest=CLOCKS)[KIND]
    assert [fact.fields.get("ended_rank") for fact in found] == [None, None]


def test_an_end_after_the_first_report_of_anybody_is_an_answer() -> None:
    first = retry("2026-03-01T09:59:49", host="n5", rank=40, path="other")
    found = facts(version("2.21.5"), first, ended("2026-03-01T09:59:51"), retry(), manifest=CLOCKS)[KIND]
    assert [fact.fields.get("ended_rank") for fact in found] == [None, None]


def made(stamp: str, host: str = "n1") -> Observation:
    return seen("comm.init_completed", "init", 1, when=utc(stamp), host=host, nranks=16, comm="a")


def step(stamp: str) -> Observation:
    return seen("job.phase_mark", "steps", 1, when=utc(stamp), host="n1", rank=0, phase="steady", what="step", step=40)


def test_retries_at_once() -> None:
    fact = only(version("2.21.5"), made("2026-03-01T09:59:49"), retry())
    assert fact.fields["timing"] == "at_start"
    assert fact.fields["since_start_s"] == 3


def test_retries_after_hours() -> None:
    fact = only(version("2.21.5"), made("2026-03-01T05:00:00"), retry())
    assert fact.fields["timing"] == "after_long"
    assert fact.fields["since_start_s"] == 5 * 3600 - 10


def test_retries_while_it_ran() -> None:
    fact = only(version("2.21.5"), made("2026-03-01T09:50:00"), step("2026-03-01T09:55:00"), retry())
    assert fact.fields["timing"] == "running"


@pytest.mark.parametrize("start", ["2026-03-01T09:55:00", "2026-03-01T10:30:00"])
def test_neither_at_once_nor_after_hours(start: str) -> None:
    assert "timing" not in only(version("2.21.5"), made(start), retry()).fields


def test_a_step_soon_after_the_start_says_that_data_had_flowed() -> None:
    fact = only(version("2.21.5"), made("2026-03-01T09:59:40"), step("2026-03-01T09:59:45"), retry())
    assert fact.fields["timing"] == "running"


def test_the_latest_communicator_counts() -> None:
    again = seen("comm.init_completed", "init", 9, when=utc("2026-03-01T09:59:49"), host="n1", nranks=8, comm="b")
    fact = only(version("2.21.5"), made("2026-03-01T05:00:00"), again, retry())
    assert fact.fields["timing"] == "at_start"


def test_communicators_of_other_hosts_say_nothing_of_this_one() -> None:
    assert "timing" not in only(version("2.21.5"), made("2026-03-01T05:00:00", host="n7"), retry()).fields


@pytest.mark.parametrize(
    ("given", "near"),
    [
        ({"peer": "n1"}, True),
        ({"peer": "n2"}, None),
        ({"local_gid": "::ffff:10.0.0.1", "remote_gid": "::ffff:10.0.0.1"}, True),
        ({"local_gid": "::ffff:10.0.0.1", "remote_gid": "::ffff:10.0.0.2"}, None),
    ],
)
def test_both_ends_on_one_host(given: dict[str, Any], near: bool | None) -> None:
    assert only(retry(**given)).fields.get("same_host") is near


def test_without_the_profile_facts_stay_as_they_are() -> None:
    fact = only(retry())
    assert classify([fact], RetryWindows(), {}) == [fact]
    assert read_windows({}) == RetryWindows()


def test_a_retry_without_any_time_has_the_order_of_its_file() -> None:
    item = retry(line=9, path="one")
    item.when = None
    exits = seen("job.process_exit", "one", 5, host="n2", rank=9, signal=9, lag=(0, 0))
    fact = only(item, exits)
    assert fact.onset == Span()
    assert fact.fields["ended_rank"] == 9
