"""The words of the report's frame in both languages; everything else speaks through the knowledge."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "cause_found": "CAUSE FOUND",
        "candidates": "CANDIDATES",
        "insufficient_evidence": "NOT ENOUGH EVIDENCE",
        "no_fault": "NO FAULT",
        "confirmed": "confirmed",
        "likely": "likely",
        "possible": "possible",
        "undetermined": "undetermined",
        "ruled_out": "ruled out",
        "owner": "owner",
        "phase": "phase",
        "algorithm": "algorithm",
        "platform": "platform",
        "host": "host",
        "network": "network",
        "startup": "start-up",
        "data": "data",
        "first_sync": "first synchronisation",
        "steady": "steady training",
        "checkpoint": "checkpoint",
        "recovery": "recovery",
        "first_fault": "First fault",
        "suspects": "Suspects",
        "rank": "rank",
        "hypotheses": "Hypotheses",
        "for": "for",
        "against": "against",
        "contradicts": "What speaks against it",
        "consequence_of": "only a consequence of",
        "consequences": "Consequences, not causes",
        "missing": "Missing evidence, most telling first",
        "next_steps": "Next steps",
        "rollback": "Back to the known good state",
        "handover": "Hand-over",
        "assumptions": "Assumptions",
        "warnings": "Warnings",
        "timeline": "Timeline",
        "evidence": "Evidence",
        "coverage": "What was looked at",
        "reasoning": "Reasoning",
        "unknown_time": "time unknown",
        "more": "more",
        "undetermined_count": "further causes could not be judged: nothing in the bundle speaks for or against them",
        "job": "Job",
        "comm": "Communication",
        "host_branch": "Host",
        "nic": "NIC and link",
        "switch": "Switch network",
        "engine": "engine",
        "knowledge": "knowledge",
        "times": "times",
        "ranks": "ranks",
        "unverified": "rests on an unverified profile",
        "outside_window": "outside the window",
        "other_run": "another run",
        "other_boot": "another boot",
        "not_known": "Not known",
        "none": "none",
        "tree": "Fault tree",
        "references": "References",
        "waits": "Who waits for whom",
        "ranks_known": "ranks that tell how far they came",
        "dumps_missing": "no dump of ranks",
        "dump_cut": "dump cut short",
        "dump_empty": "empty dump",
        "dump_unreadable": "unreadable dump",
        "dump_unresponsive": "unresponsive",
        "dump_dead": "considered dead",
        "dump_whole": "dump without groups",
        "dumps_stale": "dumps of another time than most, left out",
        "overrun": "recorders had dropped their oldest entries",
        "asked_first": "asked for the dumps first (they waited, which blames nobody)",
        "group": "group",
        "front": "front",
        "launched": "launched",
        "began": "begun",
        "finished": "finished",
        "standing": "state",
        "standing_late": "waits for",
        "standing_unknown": "nothing known of",
        "standing_mismatch": "unequal calls",
        "standing_cycle": "circle with",
        "standing_stalled": "all are in, nobody finishes",
        "standing_open": "its members are not known",
        "standing_waits_elsewhere": "its late members wait elsewhere",
        "standing_idle": "nobody waits",
        "nothing_known": "nothing known",
        "waits_picture": "Drawing of who waits for whom",
        "separating": "What separates the explanations",
        "undecided": "nothing is known of these; gone, or waiting like the others",
        "lost_host": "no dump and no line of the whole host: it is lost, or its files were not collected",
        "fronts": "Fronts of the groups",
    },
    "zh": {
        "cause_found": "已找到原因",
        "candidates": "候选原因",
        "insufficient_evidence": "证据不足",
        "no_fault": "未发现故障",
        "confirmed": "已确认",
        "likely": "很可能",
        "possible": "可能",
        "undetermined": "无法判定",
        "ruled_out": "已排除",
        "owner": "责任方",
        "phase": "阶段",
        "algorithm": "算法团队",
        "platform": "平台团队",
        "host": "主机团队",
        "network": "网络团队",
        "startup": "启动",
        "data": "数据准备",
        "first_sync": "首次同步",
        "steady": "稳定训练",
        "checkpoint": "检查点",
        "recovery": "恢复",
        "first_fault": "首个故障",
        "suspects": "嫌疑对象",
        "rank": "rank",
        "hypotheses": "假设",
        "for": "支持",
        "against": "反对",
        "contradicts": "与之矛盾的证据",
        "consequence_of": "仅为以下事实的后果:",
        "consequences": "后果(不是原因)",
        "missing": "缺失的证据(按价值排序)",
        "next_steps": "下一步",
        "rollback": "恢复到已知正常的基线",
        "handover": "交接说明",
        "assumptions": "假定",
        "warnings": "警告",
        "timeline": "时间线",
        "evidence": "证据",
        "coverage": "已查看的来源",
        "reasoning": "推理过程",
        "unknown_time": "时间未知",
        "more": "更多",
        "undetermined_count": "个其他原因无法判定:证据包中没有支持或反对它们的内容",
        "job": "作业",
        "comm": "通信库",
        "host_branch": "主机",
        "nic": "网卡链路",
        "switch": "交换网络",
        "engine": "引擎",
        "knowledge": "知识库",
        "times": "次",
        "ranks": "个 rank",
        "unverified": "依据未经验证的配置",
        "outside_window": "时间窗之外",
        "other_run": "其他运行",
        "other_boot": "其他启动周期",
        "not_known": "不清楚",
        "none": "无",
        "tree": "故障树",
        "references": "参考资料",
        "waits": "谁在等谁",
        "ranks_known": "给出进度的 rank 数",
        "dumps_missing": "缺少转储的 rank",
        "dump_cut": "转储被截断",
        "dump_empty": "转储为空",
        "dump_unreadable": "转储不可读",
        "dump_unresponsive": "无响应",
        "dump_dead": "被判定为已死",
        "dump_whole": "转储中没有进程组",
        "dumps_stale": "与多数转储不属同一时间,未采用",
        "overrun": "记录器已丢弃最早的条目",
        "asked_first": "最先请求转储(它们在等待,不构成指责)",
        "group": "进程组",
        "front": "前沿",
        "launched": "已发起",
        "began": "已开始",
        "finished": "已完成",
        "standing": "状态",
        "standing_late": "等待",
        "standing_unknown": "无任何信息",
        "standing_mismatch": "调用不一致",
        "standing_cycle": "循环等待",
        "standing_stalled": "全部在内,无人完成",
        "standing_open": "成员未知",
        "standing_waits_elsewhere": "迟到成员在别处等待",
        "standing_idle": "无人等待",
        "nothing_known": "无信息",
        "waits_picture": "等待关系图",
        "separating": "如何区分各种解释",
        "undecided": "没有任何信息：可能已消失，也可能与其他 rank 一样在等待",
        "lost_host": "整台主机既无转储也无日志：主机丢失，或其文件未被收集",
        "fronts": "各进程组的前沿",
    },
}


def word(language: str, key: str) -> str:
    """A frame word; the key itself where the language has no word for it."""
    return WORDS.get(language, WORDS["en"]).get(key, key)


def branch_word(language: str, branch: str) -> str:
    """The name of a branch; ``host`` the branch is not ``host`` the owner."""
    return word(language, "host_branch" if branch == "host" else branch)


def when(span: Mapping[str, str | None] | None, language: str) -> str:
    """An interval for people: one stamp with ±, a range, or "time unknown"."""
    earliest, latest = (span or {}).get("earliest"), (span or {}).get("latest")
    if earliest is None and latest is None:
        return word(language, "unknown_time")
    if earliest is None or latest is None:
        return f"{'≥' if latest is None else '≤'} {_plain(earliest or latest or '')}"
    low, high = _milliseconds(earliest), _milliseconds(latest)
    half = (high - low) / 2000.0
    if half >= 3600:
        return f"{_plain(earliest)} … {_plain(latest)}"
    margin = f" ±{half:.1f} s" if half >= 0.05 else ""
    return f"{_plain(_middle(low, high))}{margin}"


def _plain(stamp: str) -> str:
    return stamp.replace("T", " ").replace("Z", " UTC")


def _milliseconds(stamp: str) -> int:
    return round(datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp() * 1000)


def _middle(low: int, high: int) -> str:
    moment = datetime.fromtimestamp((low + high) / 2000.0, tz=timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
