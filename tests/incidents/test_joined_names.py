"""One thing under the names that each tool gives it, from the files to the facts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine.facts.model import Fact
from engine.facts.timeline import build_timeline
from facts_adapters.reader import read_bundle
from tests.incidents.investigating import investigation

PORT_ERROR = "NCCL WARN NET/IB : mlx5_3:1 Got async event : port error\n"


def facts_of(folder: Path, files: Mapping[str, str]) -> dict[str, list[Fact]]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    work = investigation()
    result = read_bundle(folder, reader=work.reader)
    found: dict[str, list[Fact]] = {}
    for fact in build_timeline(
        result.readings, work.pack.vocabulary, result.manifest, work.counters, work.pack.profiles
    ).facts:
        found.setdefault(fact.kind, []).append(fact)
    return found


def test_a_port_in_the_job_log_the_kernel_log_and_at_the_switch(tmp_path: Path) -> None:
    found = facts_of(
        tmp_path,
        {
            "incident.yaml": "schema: 1\nid: ports\njob: {nodes: [gpu41, gpu42], world_size: 16, gpus_per_node: 8}\n",
            "logs/job.log": f"gpu41:4021:4188 [3] {PORT_ERROR}",
            "hosts/gpu41/rdma_link.txt": (
                "link mlx5_2/1 state ACTIVE physical_state LINK_UP netdev ens4f0np0\n"
                "link mlx5_3/1 state DOWN physical_state DISABLED netdev ens5f0np0\n"
            ),
            "hosts/gpu42/rdma_link.txt": "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens5f0np0\n",
            "hosts/gpu41/kern.log": "Mar  3 10:11:12 gpu41 kernel: mlx5_core 0000:5e:00.0 ens5f0np0: Link down\n",
            "switches/leaf07/lldp_table.txt": (
                "LocalPort    RemoteDevice      RemotePortID       Capability  RemotePortDescr\n"
                "-----------  ----------------  -----------------  ----------  -----------------\n"
                "Ethernet24   gpu41.dc.example  58:a2:e1:00:00:11  R           ens5f0np0\n"
            ),
        },
    )
    (event,), (down,), (plug,) = found["comm.async_event"], found["nic.link_down"], found["switch.attached"]
    assert [(fact.host, fact.device) for fact in (event, down, plug)] == [("gpu41", "mlx5_3")] * 3
    assert event.port == down.port == plug.port == "mlx5_3:1"
    assert down.as_read == {"device": "ens5f0np0"}
    assert "ens5f0np0" in down.source.text
    assert (plug.fields["switch"], plug.fields["switch_port"]) == ("leaf07", "Ethernet24")


INIT = (
    "gpu41:40{rank}:41{rank} [{local}] NCCL INFO ncclCommInitRank comm 0x55{rank} rank {rank} nranks 16 "
    "cudaDev {local} nvmlDev {local} busId {bus} commId 0x77 - Init COMPLETE\n"
)


def test_a_gpu_in_the_kernel_log_in_nvidia_smi_and_in_the_job_log(tmp_path: Path) -> None:
    uuid = "GPU-5b2d0c11-2f3a-4b5c-8d6e-7f8091a2b3c4"
    found = facts_of(
        tmp_path,
        {
            "incident.yaml": "schema: 1\nid: gpus\njob: {nodes: [gpu41, gpu42], world_size: 16, gpus_per_node: 8}\n",
            "logs/job.log": INIT.format(rank=10, local=2, bus="3a000") + INIT.format(rank=11, local=3, bus="5d000"),
            "hosts/gpu41/kern.log": (
                f"Mar  3 10:11:11 gpu41 kernel: NVRM: GPU at PCI:0000:5d:00: {uuid}\n"
                "Mar  3 10:11:12 gpu41 kernel: NVRM: Xid (PCI:0000:5d:00): 48, pid=4011, name=python, DBE\n"
            ),
            "hosts/gpu41/nvidia_smi.csv": (
                "index, uuid, ecc.errors.uncorrected.volatile.total\n"
                f"2, GPU-00000000-2f3a-4b5c-8d6e-7f8091a2b3c4, 0\n3, {uuid}, 4\n"
            ),
        },
    )
    (xid,), (health,) = found["host.gpu_xid"], found["host.gpu_health"]
    assert [(fact.host, fact.device, fact.rank) for fact in (xid, health)] == [("gpu41", "0000:5d:00", 11)] * 2


def test_a_port_of_the_subnet_is_that_of_its_host(tmp_path: Path) -> None:
    ibstat = (
        "CA 'mlx5_4'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: 28.39.1002\n"
        "\tNode GUID: 0x1070fd0300a1b2c4\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n"
        "\t\tBase lid: 71\n\t\tSM lid: 1\n\t\tPort GUID: 0x1070fd0300a1b2c4\n\t\tLink layer: InfiniBand\n"
    )
    errors = (
        'Errors for "MT4129 ConnectX7   Mellanox Technologies"\n'
        "   GUID 0x1070fd0300a1b2c4 port 1: [LinkDownedCounter == {count}]\n"
    )
    found = facts_of(
        tmp_path,
        {
            "hosts/gpu41/ibstat.txt": ibstat,
            "before/ibqueryerrors.txt": errors.format(count=1),
            "after/ibqueryerrors.txt": errors.format(count=3),
            "switches/ufm/opensm.log": (
                "Mar 03 10:11:12 112233 [4E8006C0] 0x02 -> drop_mgr_remove_port: Removed port with "
                "GUID:0x1070fd0300a1b2c4 LID range [71, 71] of node:gpu41 mlx5_4\n"
            ),
        },
    )
    (rise,) = [fact for fact in found["nic.counter_rise"] if fact.fields["class"] == "link_down"]
    (removed,) = found["switch.node_removed"]
    assert [(f.host, f.device, f.port) for f in (rise, removed)] == [("gpu41", "mlx5_4", "mlx5_4:1")] * 2


def test_a_pod_and_its_node_are_one_host(tmp_path: Path) -> None:
    found = facts_of(
        tmp_path,
        {
            "k8s/pods.txt": (
                "NAME             READY   STATUS  RESTARTS  AGE  IP        NODE   NOMINATED NODE  READINESS GATES\n"
                "train-worker-1   0/1     Error   0         3h   10.1.2.3  gpu41  <none>          <none>\n"
            ),
            "pods/train-worker-1.log": f"train-worker-1:31:77 [0] {PORT_ERROR}",
            "hosts/gpu41/kern.log": "Mar  3 10:11:12 gpu41 kernel: mlx5_core 0000:5e:00.0 ens5f0np0: Link down\n",
            "hosts/gpu41/ibdev2netdev.txt": "mlx5_3 port 1 ==> ens5f0np0 (Down)\n",
        },
    )
    (event,), (down,) = found["comm.async_event"], found["nic.link_down"]
    assert [(fact.host, fact.device) for fact in (event, down)] == [("gpu41", "mlx5_3")] * 2
    assert event.as_read == {"host": "train-worker-1"}
