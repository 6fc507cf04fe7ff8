import {
  pullSecretEntries,
  type AttachIO,
  type DeepReadonly,
  type ExecResult,
  type NodeDescription,
  type Owner,
  type Pod,
  type PodRef,
  type ProviderHost,
  type ResolvedPod,
  type StatsSummary,
} from "@virtual-kubelet/core";
import { isNotFound, messageOf } from "@virtual-kubelet/errdefs";
import {
  objectName,
  perWindow,
  readTags,
  writeTags,
  type BackendLimits,
  type Ending,
  type EndStep,
  type IdentityReading,
  type ListedObject,
  type LogSnapshot,
  type Observation,
  type ObserveContext,
  type PodIdentity,
  type RemoteBackend,
  type RemoteDescriptions,
  type RemoteListing,
  type RemoteTarget,
  type SnapshotQuery,
  type TagLimits,
} from "@virtual-kubelet/remote-pods";
import { attachToOutput } from "./access/attach-output.ts";
import type { ExecRunner } from "./access/exec-runner.ts";
import type { OpenSocket } from "./access/web-socket.ts";
import type { ArmClient } from "./azure/arm-client.ts";
import { resourceGroupOf, type ContainerGroups, type GroupPlace } from "./azure/container-groups.ts";
import type { ContainerGroup } from "./azure/group-schema.ts";
import type { AciSettings } from "./config/settings.ts";
import { containerGroupOf, type GroupRequest } from "./group/container-group-of.ts";
import type { StatsReader } from "./metrics/stats-reader.ts";
import { ensureSubnet } from "./node/delegated-subnet.ts";
import { describeNode } from "./node/describe-node.ts";
import { readKubeProxy } from "./node/kubeconfig.ts";
import { EventRelay } from "./status/event-relay.ts";
import { observeGroup } from "./status/group-status.ts";

/** Tags of Azure's resources: names of at most 512 characters, which Azure may return in another case. */
export const tagLimits: TagLimits = { maxKeyLength: 512, maxValueLength: 256, maxCount: 50, keySeparator: ".", ignoresKeyCase: true };

/** Maximum number of characters of a container group's name. */
const maxNameLength = 63;

/** Time after which a group is deleted again that Azure should be deleting and is not. */
const deleteAgainMs = 60_000;

const hourMs = 3_600_000;
const fiveMinutesMs = 300_000;

/**
 * Published rates: Azure Resource Manager's buckets for a principal in a region, 300 creates and deletes an hour and 100 in five minutes, and 12,000
 * reads of Azure Monitor an hour.
 */
export const limits: BackendLimits = {
  rates: {
    read: [{ burst: 250, perSecond: 25 }],
    write: [{ burst: 200, perSecond: 10 }],
    create: [perWindow(300, hourMs), perWindow(100, fiveMinutesMs), { burst: 200, perSecond: 10 }],
    delete: [perWindow(300, hourMs), perWindow(100, fiveMinutesMs), { burst: 200, perSecond: 10 }],
    monitor: [perWindow(12_000, hourMs)],
  },
  // Azure describes one group a request.
  describeBatch: 1,
  idempotency: "name",
  visibleAfterMs: 10_000,
};

export interface AciBackendOptions {
  readonly settings: AciSettings;
  readonly host: ProviderHost;
  readonly arm: ArmClient;
  readonly groups: ContainerGroups;
  readonly exec: ExecRunner;
  readonly openSocket: OpenSocket;
  /** `undefined`: pods are not measured. */
  readonly stats: StatsReader | undefined;
}

/** Azure Container Instances: each pod is a container group, whose name is derived from the pod's identity. */
export class AciBackend implements RemoteBackend<GroupRequest, ContainerGroup> {
  readonly name = "Azure Container Instances";
  readonly shortName = "aci";
  readonly limits: BackendLimits = limits;
  readonly stats?: (targets: readonly RemoteTarget<ContainerGroup>[], signal: AbortSignal) => Promise<StatsSummary>;
  readonly #options: AciBackendOptions;
  readonly #owner: Owner;
  readonly #events: EventRelay;
  /** Resource groups of known container groups, by name. */
  readonly #places = new Map<string, string>();
  /** Monotonic times at which Azure has accepted deletions, by group. */
  readonly #deletedMs = new Map<string, number>();
  #hasSubnet = false;

  constructor(options: AciBackendOptions) {
    const { host, stats } = options;
    this.#options = options;
    this.#owner = { clusterId: host.clusterId, nodeName: host.nodeName };
    this.#events = new EventRelay((ref, event) => host.recordEvent(ref, event), host.clock.now());
    if (stats) this.stats = (targets, signal) => stats.read(targets, signal);
  }

  async translate(pod: DeepReadonly<Pod>, resolved: ResolvedPod, identity: PodIdentity, signal: AbortSignal): Promise<GroupRequest> {
    const { host, settings } = this.#options;
    return translatePod(pod, resolved, { host, settings, identity, kubeProxy: await readKubeProxy(settings.config.kubeProxy) }, signal);
  }

  identityOf({ tags }: ContainerGroup): IdentityReading {
    return readTags(tags, this.#owner, tagLimits);
  }

  observe(remote: ContainerGroup, context: ObserveContext<undefined>): Observation {
    // Azure's times are compared with Azure's clock.
    return observeGroup(remote, { ...context, nowMs: context.nowMs + this.#options.arm.aheadMs });
  }

  idOf(identity: PodIdentity): string {
    return nameOf(identity);
  }

  async create(
    { resourceGroup, body, notes }: GroupRequest,
    identity: PodIdentity,
    signal: AbortSignal,
  ): Promise<{ readonly id: string; readonly remote: ContainerGroup }> {
    const name = nameOf(identity);
    this.#places.set(name, resourceGroup);
    const remote = await this.#options.groups.create({ resourceGroup, name }, body, signal);
    this.#events.begin(identity.ref.uid);
    for (const note of notes) this.#options.host.recordEvent(identity.ref, note);
    return { id: name, remote };
  }

  async list(signal: AbortSignal): Promise<RemoteListing<ContainerGroup>> {
    const objects: ListedObject<ContainerGroup>[] = [];
    const problems: string[] = [];
    for (const resourceGroup of this.#options.settings.resourceGroups) {
      const list = await this.#options.groups.list(resourceGroup, signal);
      problems.push(...list.problems);
      for (const { name, tags, properties } of list.groups) {
        const identity = readTags(tags, this.#owner, tagLimits);
        if (identity.kind !== "foreign") this.#places.set(name, resourceGroup);
        objects.push({ id: name, identity, version: properties?.provisioningState ?? undefined });
      }
    }
    return { objects, problems };
  }

  async describe(ids: readonly string[], signal: AbortSignal): Promise<RemoteDescriptions<ContainerGroup>> {
    const found: { id: string; remote: ContainerGroup }[] = [];
    const missing: string[] = [];
    const unreadable: { id: string; why: string }[] = [];
    const failures: unknown[] = [];
    await Promise.all(
      ids.map(async (id) => {
        try {
          const remote = await this.#find(id, signal);
          if (!remote) missing.push(id);
          else if (lacksStates(remote)) unreadable.push({ id, why: "Azure's answer lacks the states of its containers" });
          else found.push({ id, remote });
        } catch (error) {
          failures.push(error);
        }
      }),
    );
    signal.throwIfAborted();
    if (failures.length > 0 && found.length + missing.length + unreadable.length === 0) throw failures[0];
    for (const error of failures) this.#options.host.logger.debug({ err: messageOf(error) }, "a container group could not be read");
    for (const { remote } of found) this.#relayEvents(remote);
    return { found, missing, unreadable };
  }

  async end({ id, remote }: RemoteTarget<ContainerGroup>, { isDeleted }: Ending, signal: AbortSignal): Promise<EndStep> {
    const { groups, host } = this.#options;
    const deletedAgoMs = host.clock.monotonic() - (this.#deletedMs.get(id) ?? Number.NEGATIVE_INFINITY);
    // Azure may fail to carry out a deletion that it has accepted.
    const isUnderWay = remote?.properties.provisioningState === "Deleting" || deletedAgoMs < deleteAgainMs;
    if (isDeleted && isUnderWay) return "wait";
    await groups.delete(this.#placeOf(id, remote), signal);
    this.#deletedMs.set(id, host.clock.monotonic());
    return "deleted";
  }

  async logSnapshot(
    { id, remote }: RemoteTarget<ContainerGroup>,
    container: string,
    { tailLines }: SnapshotQuery,
    signal: AbortSignal,
  ): Promise<LogSnapshot> {
    const applied = tailLines === undefined ? undefined : (["tailLines"] as const);
    // Azure takes 1 as the smallest number of lines.
    if (tailLines === 0) return { text: "", hasTimestamps: true, applied };
    const text = await this.#options.groups.logs({ ...this.#placeOf(id, remote), container, tail: tailLines }, signal);
    return { text, hasTimestamps: true, applied };
  }

  exec(
    { id, remote }: RemoteTarget<ContainerGroup>,
    container: string,
    command: readonly string[],
    io: AttachIO,
    signal: AbortSignal,
  ): Promise<ExecResult> {
    return this.#options.exec.run({ place: { ...this.#placeOf(id, remote), container }, command, io }, signal);
  }

  async attach({ id, remote }: RemoteTarget<ContainerGroup>, container: string, io: AttachIO, signal: AbortSignal): Promise<void> {
    const { groups, openSocket } = this.#options;
    const { webSocketUri, password } = await groups.attach({ ...this.#placeOf(id, remote), container }, signal);
    await attachToOutput(webSocketUri, { password, io, openSocket }, signal);
  }

  async ping(signal: AbortSignal): Promise<void> {
    const { settings, arm, groups, host } = this.#options;
    for (const resourceGroup of settings.resourceGroups) await groups.ping(resourceGroup, signal);
    if (this.#hasSubnet || settings.subnet?.cidr === undefined) return;
    await ensureSubnet(arm, settings.subnet, host.clock, signal);
    this.#hasSubnet = true;
  }

  async configureNode(): Promise<NodeDescription> {
    return describeNode(this.#options.settings.config);
  }

  async release({ uid }: PodRef, remote: ContainerGroup | undefined): Promise<void> {
    this.#events.forget(uid);
    if (!remote) return;
    this.#places.delete(remote.name);
    this.#deletedMs.delete(remote.name);
  }

  /** A group whose resource group is not known, such as after a restart, is looked for in all of them. */
  async #find(name: string, signal: AbortSignal): Promise<ContainerGroup | undefined> {
    const known = this.#places.get(name);
    for (const resourceGroup of known === undefined ? this.#options.settings.resourceGroups : [known]) {
      try {
        const group = await this.#options.groups.get({ resourceGroup, name }, signal);
        this.#places.set(name, resourceGroup);
        return group;
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
    return undefined;
  }

  #placeOf(name: string, remote: ContainerGroup | undefined): GroupPlace {
    const [first] = this.#options.settings.resourceGroups;
    return { name, resourceGroup: this.#places.get(name) ?? (remote ? resourceGroupOf(remote.id) : first) };
  }

  #relayEvents(remote: ContainerGroup): void {
    const identity = this.identityOf(remote);
    if (identity.kind === "pod") this.#events.relay(identity.identity.ref, remote, this.#options.arm.aheadMs);
  }
}

/** Whether nothing is told of the containers of a group that has been made. */
function lacksStates({ properties: { provisioningState, containers } }: ContainerGroup): boolean {
  return provisioningState === "Succeeded" && containers.every(({ properties }) => !properties.instanceView?.currentState?.state);
}

/** Name of a pod's container group. */
export function nameOf(identity: PodIdentity): string {
  return objectName(identity, { maxLength: maxNameLength });
}

/** Context of {@link translatePod}. */
export interface TranslateContext {
  readonly settings: AciSettings;
  readonly host: Pick<ProviderHost, "nodeName" | "clusterDomain" | "recordEvent" | "logger">;
  readonly identity: PodIdentity;
  readonly kubeProxy: Awaited<ReturnType<typeof readKubeProxy>>;
}

/** Translates a pod with everything that its references say. @throws as `containerGroupOf` */
export async function translatePod(
  pod: DeepReadonly<Pod>,
  resolved: ResolvedPod,
  { settings, host, identity, kubeProxy }: TranslateContext,
  signal: AbortSignal,
): Promise<GroupRequest> {
  const pullHost = {
    getSecret: (_namespace: string, name: string, callSignal: AbortSignal) => resolved.secret(name, callSignal),
    recordEvent: host.recordEvent.bind(host),
    logger: host.logger,
  };
  const registryEntries = await pullSecretEntries(pullHost, pod, signal);
  const createdAt = pod.metadata?.creationTimestamp;
  const tags = writeTags(identity, createdAt === undefined ? {} : { createdAt }, tagLimits);
  const { nodeName, clusterDomain } = host;
  return containerGroupOf(pod, resolved, { settings, nodeName, clusterDomain, tags, registryEntries, kubeProxy }, signal);
}
