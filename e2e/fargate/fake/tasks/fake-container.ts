import type { ContainerDefinition, ContainerOverride } from "@aws-sdk/client-ecs";
import { createHash } from "node:crypto";
import type { ContainerRun } from "../../../support/container-host/container-host.ts";

/** Status that DescribeTasks shows of a container. */
export type ContainerStatus = "PENDING" | "RUNNING" | "STOPPED";

/** State of a health check. */
export type HealthStatus = "HEALTHY" | "UNHEALTHY" | "UNKNOWN";

/** A container of a task. */
export class FakeContainer {
  readonly definition: ContainerDefinition;
  readonly override: ContainerOverride;
  readonly name: string;
  readonly image: string;
  readonly arn: string;
  lastStatus: ContainerStatus = "PENDING";
  exitCode: number | undefined;
  reason: string | undefined;
  health: HealthStatus = "UNKNOWN";
  runtimeId: string | undefined;
  startedAtMs: number | undefined;
  /** Status of the agent that runs commands; `undefined` if the task was run without it. */
  agent: { readonly status: "PENDING" | "RUNNING" | "STOPPED"; readonly sinceMs: number } | undefined;
  /** All runs, also those after a restart. */
  readonly runs: ContainerRun[] = [];

  constructor(definition: ContainerDefinition, override: ContainerOverride, arn: string) {
    this.definition = definition;
    this.override = override;
    this.name = definition.name ?? "";
    this.image = definition.image ?? "";
    this.arn = arn;
  }

  get isEssential(): boolean {
    return this.definition.essential !== false;
  }

  get run(): ContainerRun | undefined {
    return this.runs.at(-1);
  }

  /** The container in the form of DescribeTasks. */
  toWire(taskArn: string, address: { readonly attachmentId: string; readonly ip: string } | undefined): object {
    const { agent, definition } = this;
    return {
      containerArn: this.arn,
      taskArn,
      name: this.name,
      image: this.image,
      ...(this.runs.length > 0 && { imageDigest: digestOf(this.image) }),
      ...(this.runtimeId !== undefined && { runtimeId: this.runtimeId }),
      lastStatus: this.lastStatus,
      ...(this.exitCode !== undefined && { exitCode: this.exitCode }),
      ...(this.reason !== undefined && { reason: this.reason }),
      networkBindings: [],
      networkInterfaces: address ? [{ attachmentId: address.attachmentId, privateIpv4Address: address.ip }] : [],
      healthStatus: this.health,
      ...(agent && {
        managedAgents: [
          {
            name: "ExecuteCommandAgent",
            lastStatus: agent.status,
            ...(agent.status === "RUNNING" && { lastStartedAt: agent.sinceMs / 1000 }),
          },
        ],
      }),
      cpu: String(this.override.cpu ?? definition.cpu ?? 0),
      ...(definition.memory !== undefined && { memory: String(this.override.memory ?? definition.memory) }),
      ...(definition.memoryReservation !== undefined && { memoryReservation: String(definition.memoryReservation) }),
    };
  }
}

/** Digest of an image; each name is another image. */
export function digestOf(image: string): string {
  const [, digest] = image.split("@");
  return digest ?? `sha256:${createHash("sha256").update(image).digest("hex")}`;
}
