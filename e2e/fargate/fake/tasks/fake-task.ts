import type { RunTaskRequest, Tag } from "@aws-sdk/client-ecs";
import type { FakeCluster } from "../ecs/clusters.ts";
import type { FakeTaskDefinition } from "../ecs/task-definitions.ts";
import type { FakeContainer } from "./fake-container.ts";

/** Statuses in the order of a task's life. */
export type TaskStatus = "PROVISIONING" | "PENDING" | "ACTIVATING" | "RUNNING" | "DEACTIVATING" | "STOPPING" | "DEPROVISIONING" | "STOPPED";

/** Why a task stops, as `stopCode` and `stoppedReason` say. */
export interface TaskStop {
  readonly code:
    | "TaskFailedToStart"
    | "EssentialContainerExited"
    | "UserInitiated"
    | "ServiceSchedulerInitiated"
    | "SpotInterruption"
    | "TerminationNotice";
  readonly reason: string;
}

/** The network interface of a task. */
interface NetworkInterface {
  readonly attachmentId: string;
  readonly subnetId: string;
  readonly interfaceId: string;
  readonly macAddress: string;
  status: "PRECREATED" | "ATTACHED" | "DELETED";
  /** Appears with the attachment, or later. */
  ip: string | undefined;
}

/** Times of a task, in milliseconds since the epoch. */
export interface TaskTimes {
  readonly createdAt: number;
  pullStartedAt?: number;
  pullStoppedAt?: number;
  connectivityAt?: number;
  startedAt?: number;
  stoppingAt?: number;
  executionStoppedAt?: number;
  stoppedAt?: number;
}

/** Facts of a task that never change. */
export interface TaskSpec {
  readonly id: string;
  readonly arn: string;
  readonly cluster: FakeCluster;
  readonly definition: FakeTaskDefinition;
  readonly request: RunTaskRequest;
  readonly capacityProvider: string | undefined;
  readonly containers: readonly FakeContainer[];
  readonly networkInterface: NetworkInterface;
}

/** A task. Each change raises its version. */
export class FakeTask {
  readonly spec: TaskSpec;
  readonly times: TaskTimes;
  tags: readonly Tag[];
  lastStatus: TaskStatus = "PROVISIONING";
  desiredStatus: "RUNNING" | "STOPPED" = "RUNNING";
  stop: TaskStop | undefined;
  version = 1;

  constructor(spec: TaskSpec, createdAtMs: number) {
    this.spec = spec;
    this.times = { createdAt: createdAtMs };
    this.tags = spec.request.tags ?? [];
  }

  /** The task's health: unknown unless all essential containers with a health check have said something. */
  get health(): string {
    const checked = this.spec.containers.filter(({ definition, isEssential }) => isEssential && definition.healthCheck);
    if (checked.some(({ health }) => health === "UNHEALTHY")) return "UNHEALTHY";
    return checked.length > 0 && checked.every(({ health }) => health === "HEALTHY") ? "HEALTHY" : "UNKNOWN";
  }

  /** The task in the form of DescribeTasks. */
  toWire({ withTags }: { readonly withTags: boolean }): object {
    const { spec, stop, times } = this;
    const { definition, request, networkInterface } = spec;
    const { overrides = {} } = request;
    return {
      taskArn: spec.arn,
      clusterArn: spec.cluster.arn,
      taskDefinitionArn: definition.arn,
      attachments: [attachmentToWire(networkInterface)],
      attributes: attributesOf(definition),
      availabilityZone: "us-east-1a",
      ...(spec.capacityProvider !== undefined && { capacityProviderName: spec.capacityProvider }),
      ...(times.connectivityAt !== undefined && { connectivity: "CONNECTED" }),
      containers: spec.containers.map((container) => container.toWire(spec.arn, addressOf(networkInterface))),
      cpu: overrides.cpu ?? definition.request.cpu,
      memory: overrides.memory ?? definition.request.memory,
      desiredStatus: this.desiredStatus,
      enableExecuteCommand: request.enableExecuteCommand ?? false,
      ephemeralStorage: overrides.ephemeralStorage ?? definition.request.ephemeralStorage ?? { sizeInGiB: 20 },
      group: request.group ?? `family:${definition.family}`,
      healthStatus: this.health,
      inferenceAccelerators: [],
      lastStatus: this.lastStatus,
      launchType: "FARGATE",
      overrides: {
        containerOverrides: spec.containers.map(({ name }) => ({ name })),
        inferenceAcceleratorOverrides: [],
        ...overrides,
      },
      platformVersion: "1.4.0",
      platformFamily: platformFamilyOf(definition),
      ...(request.startedBy !== undefined && { startedBy: request.startedBy }),
      ...(stop && { stopCode: stop.code, stoppedReason: stop.reason }),
      ...Object.fromEntries(Object.entries(times).map(([name, ms]: [string, number]) => [name, ms / 1000])),
      tags: withTags ? this.tags : [],
      version: this.version,
    };
  }
}

function attributesOf({ request }: FakeTaskDefinition): readonly object[] {
  return [{ name: "ecs.cpu-architecture", value: (request.runtimePlatform?.cpuArchitecture ?? "X86_64").toLowerCase() }];
}

function platformFamilyOf({ request }: FakeTaskDefinition): string {
  const [, year, edition] = /^WINDOWS_SERVER_(\d+)_(CORE|FULL)$/.exec(request.runtimePlatform?.operatingSystemFamily ?? "") ?? [];
  return year === undefined ? "Linux" : `WindowsServer${year}${edition === "CORE" ? "Core" : "Full"}`;
}

function addressOf({ attachmentId, ip }: NetworkInterface): { readonly attachmentId: string; readonly ip: string } | undefined {
  return ip === undefined ? undefined : { attachmentId, ip };
}

function attachmentToWire({ attachmentId, subnetId, interfaceId, macAddress, status, ip }: NetworkInterface): object {
  const details = [
    { name: "subnetId", value: subnetId },
    ...(status === "PRECREATED"
      ? []
      : [
          { name: "networkInterfaceId", value: interfaceId },
          { name: "macAddress", value: macAddress },
        ]),
    ...(ip === undefined
      ? []
      : [
          { name: "privateDnsName", value: `ip-${ip.replaceAll(".", "-")}.ec2.internal` },
          { name: "privateIPv4Address", value: ip },
        ]),
  ];
  return { id: attachmentId, type: "ElasticNetworkInterface", status, details };
}
