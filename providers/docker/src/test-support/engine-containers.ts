import type { ContainerInfo, ContainerInspectInfo } from "dockerode";

/** Fields of a container that tests set. Others have the values of a new container. */
export interface FakeContainer {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly status?: string;
  readonly exitCode?: number;
  readonly error?: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly oomKilled?: boolean;
  readonly user?: string;
  readonly networkMode?: string;
  readonly ip?: string;
  readonly ipv6?: string;
  readonly oomScore?: number;
  readonly stopSignal?: string;
}

const year1 = "0001-01-01T00:00:00Z";

/** The engine's inspection of it. */
export function inspected(container: FakeContainer): ContainerInspectInfo {
  const { id, labels, status = "running", networkMode = "bridge", ip = "172.17.0.2", ipv6 = "" } = container;
  const text = {
    Id: id,
    Created: "2026-01-01T00:00:00.123456789Z",
    Image: "sha256:1",
    State: {
      Status: status,
      Running: status === "running",
      ExitCode: container.exitCode ?? 0,
      Error: container.error ?? "",
      OOMKilled: container.oomKilled ?? false,
      StartedAt: container.startedAt ?? year1,
      FinishedAt: container.finishedAt ?? year1,
    },
    Config: { Labels: labels, Image: "app:1", User: container.user ?? "", StopSignal: container.stopSignal },
    HostConfig: { NetworkMode: networkMode, GroupAdd: ["3000"], OomScoreAdj: container.oomScore ?? 0 },
    NetworkSettings: { Networks: { [networkMode]: { IPAddress: ip, GlobalIPv6Address: ipv6 } } },
  };
  return text as unknown as ContainerInspectInfo;
}

/** The engine's list entry of it. */
export function listed(container: FakeContainer): ContainerInfo {
  const { id, labels, status = "running", networkMode = "bridge", ip = "172.17.0.2", ipv6 = "" } = container;
  const text = {
    Id: id,
    Labels: labels,
    State: status,
    Created: 1_767_225_600,
    HostConfig: { NetworkMode: networkMode },
    NetworkSettings: { Networks: { [networkMode]: { IPAddress: ip, GlobalIPv6Address: ipv6 } } },
  };
  return text as unknown as ContainerInfo;
}
