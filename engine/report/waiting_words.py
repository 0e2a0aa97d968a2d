"""The sentences about who waits for whom, in both languages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engine.facts.collectives import spoken
from engine.facts.waits import Suspected, Waits
from engine.rules.model import Text


def conclusion(waits: Waits) -> Text:
    """What the comparison of the ranks comes to, in one sentence."""
    if waits.suspects:
        ranks = spoken(item.rank for item in waits.suspects)
        circle = Text("; ranks wait for each other in a circle", "；存在循环等待") if waits.circles else Text("", "")
        return Text(f"The chains of waiting end in rank {ranks}{circle.en}", f"等待链的终点是 rank {ranks}{circle.zh}")
    if waits.circles:
        ranks = spoken(waits.circles[0].ranks, 12)
        return Text(
            f"Deadlock: ranks {ranks} wait for each other in a circle; which of them has the wrong order is not told",
            f"死锁：rank {ranks} 循环等待；无法判断其中哪个 rank 的顺序有误",
        )
    if waits.mismatches:
        unequal = waits.mismatches[0]
        where = _name(unequal.description, unequal.name)
        return Text(
            f"Ranks issued unequal calls as number {unequal.seq} of group {where}; without a majority nobody is named",
            f"在进程组 {where} 的序号 {unequal.seq} 上各 rank 的调用不一致；没有多数，不指认任何 rank",
        )
    if waits.undecided:
        return _undecided(waits)
    if waits.stalled:
        item = waits.stalled[0]
        where = _name(item.description, item.name)
        return Text(
            f"All {item.size} members of group {where} are in the same operation and nobody finishes it: nobody is "
            "missing. The network, the library or a device may be at fault; these ranks only show where it was noticed",
            f"进程组 {where} 的全部 {item.size} 个成员都在同一操作中且均未完成：没有 rank 缺席。"
            "可能是网络、通信库或设备的问题；这些 rank 只说明问题在何处被发现",
        )
    if waits.at_rest:
        return Text(
            "Nobody waits: every operation that the ranks launched was finished when the dumps were taken. They show "
            "no hang, or were taken before or after it",
            "没有 rank 在等待：取转储时各 rank 发起的操作均已完成。转储未显示卡住，或在卡住之前或之后取得",
        )
    if waits.coarse and waits.idle:
        return Text(
            "No operation is open. gloo's recorder tells neither whether an operation that ended had failed, nor what "
            "was sent and received: the logs and stacks of the ranks tell",
            "没有未结束的操作。gloo 的 recorder 既不区分结束的操作是否失败，也不记录点对点收发："
            "需看各 rank 的日志与调用栈",
        )
    return Text(
        "The states of the ranks do not show who holds the others up", "各 rank 的状态不能说明是谁拖住了其他 rank"
    )


def _undecided(waits: Waits) -> Text:
    """The chains end in ranks of which nothing is known: of one host, several, or a single one."""
    ranks = spoken(waits.undecided)
    for item in waits.lost_hosts:
        if set(waits.undecided) <= set(item.ranks):
            return Text(
                f"The chains of waiting end in host {item.host}: its ranks {spoken(item.ranks)} left neither a dump "
                "nor a line. The host is lost, or its files were not collected",
                f"等待链止于主机 {item.host}：其 rank {spoken(item.ranks)} 既无转储也无日志。"
                "主机丢失，或其文件未被收集",
            )
    if len(waits.undecided) == 1:
        return Text(
            f"The chains of waiting end in rank {ranks}, of which nothing is known: it is gone, or it waits like the "
            "others and its dump was not collected",
            f"等待链止于 rank {ranks}，但没有它的任何信息：它可能已消失，也可能同样在等待而转储未被收集",
        )
    return Text(
        f"The chains of waiting end in ranks of which nothing is known ({ranks}); which one it is is not told",
        f"等待链止于没有任何信息的 rank（{ranks}）；无法判断是哪一个",
    )


def _name(description: str, name: str) -> str:
    return f"{description} {name}" if description not in ("", "undefined", name) else name


def reason(item: Suspected) -> Text:
    """Why a rank is a suspect."""
    where = _name(item.description, item.name)
    number = f" #{item.seq}" if item.seq >= 0 else ""
    call = item.call or "an operation"
    zh_call = item.call or "某操作"
    told = {
        "never_entered": Text(f"never launched {call}{number} of {where}", f"从未发起 {where} 的 {zh_call}{number}"),
        "not_started": Text(
            f"launched {call}{number} of {where}, but its device never began it",
            f"已发起 {where} 的 {zh_call}{number}，但其设备从未开始执行",
        ),
        "stuck_inside": Text(
            f"does not finish {call}{number} of {where}, which most members have finished",
            f"未完成 {where} 的 {zh_call}{number}，而多数成员已完成",
        ),
        "fewer_operations": Text(
            f"launched fewer operations of {where} than the others: not {number.strip() or zh_call}",
            f"在 {where} 中发起的操作少于其他 rank：缺 {number.strip() or zh_call}",
        ),
        "no_report": Text(
            f"left no record of its operations, and {_SIGNS[item.sign].en}; {call}{number} of {where} waits for it",
            f"没有留下操作记录，且{_SIGNS[item.sign].zh}；{where} 的 {zh_call}{number} 在等待它",
        ),
        "mismatch": Text(
            f"issued {item.found or '?'} as{number or ' the next call'} of {where} where the others issued {call}",
            f"在 {where} 的{number or '下一次调用'} 发起了 {item.found or '?'}，而其他 rank 发起的是 {call}",
        ),
        "order": Text(
            f"launched {item.found} where the others launched {call}", f"发起顺序为 {item.found}，而其他 rank 为 {call}"
        ),
    }[item.how]
    stack = (
        Text(f"; its stack stands in {item.stands}", f"；其调用栈停在 {item.stands}") if item.stands else Text("", "")
    )
    waiting = (
        Text(f"; {item.waiting} ranks wait for it", f"；{item.waiting} 个 rank 在等待它")
        if item.waiting
        else Text("", "")
    )
    steps = _steps(item)
    return Text(told.en + waiting.en + stack.en + steps.en, told.zh + waiting.zh + stack.zh + steps.zh)


_SIGNS: Mapping[str | None, Text] = {
    "dead": Text("the library calls it dead", "通信库判定其已死"),
    "unresponsive": Text("the library gets no answer from it", "通信库得不到其响应"),
    "ended": Text("its process ended for a reason of its own", "其进程因自身原因结束"),
    "stopped": Text("its log stops well before the others report", "其日志早在其他 rank 报告之前就已中断"),
    "silent": Text("its log does not report what the others report", "其日志没有上报其他 rank 都上报的内容"),
    None: Text("nothing else is known of it", "没有其他信息"),
}
"""What speaks against a rank that left no dump."""


def _steps(item: Suspected) -> Text:
    """The last step of a rank that is behind all others."""
    if item.step is None:
        return Text("", "")
    return Text(
        f"; its last step line is {item.step}, those of all others {item.others_step} or later",
        f"；其最后的步数为 {item.step}，其他 rank 均不小于 {item.others_step}",
    )


def separating(waits: Waits) -> Iterator[Text]:
    """What separates the remaining explanations, where nobody can be named."""
    if waits.suspects:
        return
    if waits.stalled:
        yield Text(
            "Counters of the adapters and switch ports of these ranks, before and after: errors, retries or pauses "
            "that rise point to the path",
            "这些 rank 的网卡与交换机端口计数器前后两次采样：错误、重传或 PAUSE 增长指向链路",
        )
        yield Text(
            "The same operation alone between these hosts (all_reduce_perf): it hangs where the path is at fault and "
            "runs where the library or the program is",
            "在这些主机之间单独运行同一操作（all_reduce_perf）：若仍挂起则是链路问题，若正常则是通信库或程序问题",
        )
        yield Text(
            "Native stacks and the kernel log of one rank: a stuck driver or an Xid points to the device",
            "任一 rank 的本地调用栈与内核日志：驱动卡住或出现 Xid 指向设备",
        )
    if waits.undecided or waits.missing:
        yield Text(
            f"Dumps, last log lines and exit status of ranks {spoken(waits.undecided or waits.missing)}",
            f"rank {spoken(waits.undecided or waits.missing)} 的转储、最后日志与退出状态",
        )
    if waits.circles or waits.mismatches:
        yield Text(
            "The code that launches these operations, on a rank of each side",
            "双方各取一个 rank，查看发起这些操作的代码",
        )
