"""Packet filter rules: ``iptables-save``, ``iptables -L`` and ``-S``, ``nft list ruleset``, ``ufw status``, firewalld.

Only rules and policies that drop or reject are told. A rule is ``narrow`` where it cannot concern the traffic of a
job: invalid packets, one service port below 1024, broadcast, an interface of a container bridge. The policy DROP of
FORWARD is the container runtime's default and does not concern traffic to the host itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.host._statement import state

_SAVED = re.compile(r"-A (?P<chain>\S+) (?P<match>.*)-j (?P<target>DROP|REJECT)\b(?P<rest>.*)")
_SAVED_POLICY = re.compile(r"(?::(?P<chain>[A-Z]+) |-P (?P<other>[A-Z]+) )(?P<policy>DROP|REJECT)\b")
_LISTED_CHAIN = re.compile(r"Chain (?P<chain>\S+) \((?:policy (?P<policy>\w+)[^)]*|\d+ references)\)")
_LISTED = re.compile(
    r"\s*(?:\d+\s+)?(?:[\d.]+[KMG]?\s+[\d.]+[KMG]?\s+)?(?P<target>DROP|REJECT)\s+(?P<match>\S+\s+--\s.*)"
)
_NFT_CHAIN = re.compile(r"\s*chain (?P<chain>\S+) \{")
_NFT_POLICY = re.compile(r"\s*type filter hook (?P<hook>\w+) .*policy (?P<policy>drop|reject);")
_NFT_RULE = re.compile(r"\s+(?P<match>.*?)\b(?P<target>drop|reject)\b(?P<rest>.*)$")
_UFW = re.compile(r"Status: active")
_UFW_DEFAULT = re.compile(r"Default: (?P<action>deny|reject) \(incoming\)")
_FIREWALLD = re.compile(r"\S+ \((?:default, )?active\)$|  target: (?P<target>default|DROP|%%REJECT%%)$")
_SET = re.compile(r"ctstate INVALID|state INVALID|ct state invalid|ADDRTYPE match|addrtype|broadcast|multicast|"
                  r"-i (?:docker|br-|cali|veth|cni|virbr)\S*|iifname \"(?:docker|br-|cali|veth|cni|virbr)|"
                  r"mark match|--mark|-m mark|KUBE-|cali-|224\.0\.0\.0|255\.255\.255\.255|127\.0\.0\.0/8|limit:|"
                  r"owner|pkttype|fragment|tcp-flags|flags:|unreachable-fragment")  # fmt: skip
_PORT = re.compile(r"(?:--dports? |dpts?:|multiport dports |dport (?:\{ ?)?)(?P<ports>[\d,:\- ]+)")


def sniff(head: Head) -> Verdict:
    """The shapes of the four tools."""
    text = head.text
    saved = "*filter" in text or any(mark in text for mark in ("-P INPUT", " -j ", "iptables"))
    if saved and re.search(r"\*filter|^(?:-P INPUT|-A \S+ .*-j |# (?:Generated|Warning).*iptables)", text, re.M):
        return Verdict(0.95, "iptables-save")
    if "Chain " in text and re.search(r"^Chain \S+ \((?:policy|\d+ references)", text, re.M):
        return Verdict(0.9, "iptables -L")
    if "table " in text and re.search(r"^table (?:inet|ip|ip6|bridge) \S+ \{", text, re.M):
        return Verdict(0.9, "nft list ruleset")
    if "Status: active" in text and re.search(r"^Status: active$.*^To +Action", text, re.M | re.S):
        return Verdict(0.7, "ufw")
    if "active)" in text and re.search(r"^\S+ \(.*active\)$", text, re.M):
        return Verdict(0.7, "firewalld")
    return Verdict(0.0, "no packet filter rules")


def read(file: EvidenceFile, _context: Context) -> Iterator[Observation]:
    """``host.firewall_rule`` for every rule and policy that drops or rejects."""
    chain = ""
    for line in file.lines():
        text = line.text
        heading = _LISTED_CHAIN.match(text) or _NFT_CHAIN.match(text)
        if heading:
            chain = heading["chain"]
            if "policy" in heading.groupdict() and heading["policy"] in ("DROP", "REJECT"):
                yield _rule(file, line, "policy_drop", chain, False)
            continue
        policy = _SAVED_POLICY.match(text)
        hook = _NFT_POLICY.match(text)
        if policy:
            yield _rule(file, line, "policy_drop", policy["chain"] or policy["other"], False)
        elif hook:
            yield _rule(file, line, "policy_drop", hook["hook"], False)
        else:
            yield from _rules(file, line, chain)


def _rules(file: EvidenceFile, line: Line, chain: str) -> Iterator[Observation]:
    for pattern in (_SAVED, _LISTED, _NFT_RULE):
        found = pattern.match(line.text)
        if found and (pattern is not _NFT_RULE or chain):
            groups = found.groupdict()
            action = "reject" if found["target"].upper() == "REJECT" else "drop"
            match = f"{groups.get('match') or ''} {groups.get('rest') or ''}"
            yield _rule(file, line, action, groups.get("chain") or chain, _narrow(match))
            return
    if _UFW_DEFAULT.match(line.text) or _UFW.fullmatch(line.text.strip()):
        yield _rule(file, line, "policy_drop", "INPUT", False)
    else:
        zone = _FIREWALLD.match(line.text)
        if zone and zone["target"]:
            yield _rule(file, line, "reject" if zone["target"] != "DROP" else "drop", "INPUT", False)


def _rule(file: EvidenceFile, line: Line, action: str, chain: str, narrow: bool) -> Observation:
    fields: dict[str, Scalar] = {"action": action, "chain": chain, "text": line.text.strip()[:300], "narrow": narrow}
    return state(file, line, "host.firewall_rule", fields)


def _narrow(match: str) -> bool:
    """Whether the rule cannot concern the ports of a job."""
    if _SET.search(match):
        return True
    ports = _PORT.search(match)
    if ports is None:
        return False
    numbers = [int(number) for number in re.findall(r"\d+", ports["ports"])]
    return bool(numbers) and max(numbers) < 1024


_SAVE = """\
# Generated by iptables-save v1.8.9 on Mon Sep 14 16:42:31 2026
*filter
:INPUT ACCEPT [38714920:41206583117]
:FORWARD DROP [0:0]
:OUTPUT ACCEPT [30468255:12937740862]
-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A INPUT -m conntrack --ctstate INVALID -j DROP
-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT
-A INPUT -j REJECT --reject-with icmp-host-prohibited
-A FORWARD -i docker0 -o docker0 -j ACCEPT
COMMIT
"""
_LIST = """\
Chain INPUT (policy DROP 0 packets, 0 bytes)
 pkts bytes target     prot opt in     out     source               destination
   12   720 DROP       tcp  --  *      *       10.0.0.0/8           0.0.0.0/0            tcp dpts:30000:61000
"""
_NFT = """\
table inet filter {
	chain input {
		type filter hook input priority filter; policy drop;
		ct state established,related accept
		tcp dport 111 drop
	}
}
"""
_HARMLESS = """\
*filter
:INPUT ACCEPT [1:2]
:FORWARD ACCEPT [0:0]
-A FORWARD -i docker0 -o docker0 -j ACCEPT
COMMIT
"""

ADAPTER = Adapter(
    name="packet_filter",
    branch="host",
    emits=("host.firewall_rule",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _SAVE,
            (
                ("host.firewall_rule", {"action": "policy_drop", "chain": "FORWARD"}),
                ("host.firewall_rule", {"action": "drop", "chain": "INPUT", "narrow": True}),
                ("host.firewall_rule", {"action": "reject", "chain": "INPUT", "narrow": False}),
            ),
        ),
        Sample(
            _LIST,
            (
                ("host.firewall_rule", {"action": "policy_drop", "chain": "INPUT"}),
                ("host.firewall_rule", {"action": "drop", "chain": "INPUT", "narrow": False}),
            ),
        ),
        Sample(
            _NFT,
            (
                ("host.firewall_rule", {"action": "policy_drop", "chain": "input"}),
                ("host.firewall_rule", {"action": "drop", "narrow": True}),
            ),
        ),
        Sample(_HARMLESS),
    ),
)
