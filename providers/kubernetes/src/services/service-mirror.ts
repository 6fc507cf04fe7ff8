import type { Clock, Random } from "@virtual-kubelet/clock";
import { isConflict, isUnavailable, messageOf } from "@virtual-kubelet/errdefs";
import {
  createEventRecorder,
  resources,
  WorkQueue,
  type DeepReadonly,
  type EndpointSlice,
  type EventRecorder,
  type KubeClient,
  type Logger,
  type Metrics,
  type ObjectMeta,
  type Service,
  type WorkFailure,
  type WorkResult,
} from "@virtual-kubelet/kube-client";
import type { ServicesConfig } from "../config/services.ts";
import type { FarCluster } from "../far/far-cluster.ts";
import type { NamespaceMap } from "../identity/namespaces.ts";
import type { AddressMap } from "../status/address-map.ts";
import { applyStep } from "./apply-step.ts";
import { confirmServiceGone, confirmSliceGone } from "./confirm-gone.ts";
import { directionRules, type DirectionRules } from "./direction-rules.ts";
import { MirrorNotices } from "./mirror-notices.ts";
import { chooseSource, serviceStep, sliceSteps } from "./mirror-steps.ts";
import { isFarMirror, isHomeMirror, isMirrored, mirrorOwner, sourceOf, type MirrorDirection } from "./mirror-tags.ts";
import { ObservedServices, type ObservedServicesOptions } from "./observed-services.ts";
import { removeMirrored } from "./remove-mirrored.ts";
import { WritePace } from "./write-pace.ts";

/** Number of Services that are written at once. */
const concurrency = 4;
/** Number of repairs of one Service after which another program is said to change it. */
const quarrel = 3;
/** Number of failures after which the Service's owner is told; conflicts are usually gone by then. */
const tellAfter = 4;

/** Options of {@link ServiceMirror}. */
export interface ServiceMirrorOptions {
  /** Id of the home cluster. */
  readonly clusterId: string;
  /** Virtual nodes of this process that use the mirror; never empty. What they wrote before is removed if it is no longer wanted. */
  readonly nodeNames: ReadonlySet<string>;
  readonly services: Pick<ServicesConfig, "namespaces" | "direction">;
  /** Whether a label of a home Service travels. */
  readonly carriesLabel: (key: string) => boolean;
  readonly namespaces: NamespaceMap;
  readonly addresses: AddressMap;
  readonly home: KubeClient;
  readonly far: Pick<FarCluster, "connection" | "history" | "ownerReference">;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Metrics of the requests to the far cluster. */
  readonly farMetrics: Metrics;
}

/** A Service's name in the cluster to which it is mirrored. */
interface Target {
  readonly direction: MirrorDirection;
  readonly namespace: string;
  readonly name: string;
}

/** One of the two clusters. */
interface Side {
  readonly client: KubeClient;
  readonly observed: ObservedServices;
}

/** What both clusters have for a target. */
interface View {
  readonly target: Target;
  readonly source: Side;
  readonly sink: Side;
  /** Namespaces whose Services have the target's name. */
  readonly sourceNamespaces: readonly string[];
  /** The Service to mirror; `undefined` if there is none. */
  readonly chosen: DeepReadonly<Service> | undefined;
  readonly stored: DeepReadonly<Service> | undefined;
  readonly storedSlices: readonly DeepReadonly<EndpointSlice>[];
  readonly farNamespace: string;
}

const leftoversKey = "leftovers";

/**
 * Mirrors Services and their EndpointSlices between home and the far cluster. Level-triggered: whatever changes in either cluster, the
 * Service's name is looked at again, and what is stored is compared with what is wanted. So two mirrors between the same clusters write the
 * same, and a restart continues where it was.
 */
export class ServiceMirror {
  readonly #options: ServiceMirrorOptions;
  readonly #pairs: readonly { readonly home: string; readonly far: string }[];
  readonly #directions: readonly MirrorDirection[];
  readonly #home: Side;
  readonly #far: Side;
  readonly #queue: WorkQueue;
  readonly #pace: WritePace;
  readonly #recorder: EventRecorder;
  readonly #notices: MirrorNotices;

  /** @throws InvalidInputError if a far namespace's name would be too long */
  constructor(options: ServiceMirrorOptions) {
    const { clock, random, logger, metrics, services, namespaces, home, far } = options;
    const [host = ""] = options.nodeNames;
    this.#options = options;
    this.#pairs = [...new Set(services.namespaces)].map((name) => ({ home: name, far: namespaces.toFar(name) }));
    this.#directions = services.direction === "both" ? ["toFar", "toHome"] : [services.direction];
    this.#home = this.#side("home", { client: home, metrics });
    this.#far = this.#side("far", { client: far.connection.client, history: far.history, metrics: options.farMetrics });
    this.#queue = new WorkQueue({ clock, random, metrics, name: "service-mirror" });
    this.#pace = new WritePace(clock);
    this.#recorder = createEventRecorder({ client: home, component: "virtual-kubelet", host, clock, random, logger, metrics });
    this.#notices = new MirrorNotices(this.#recorder, logger);
  }

  /** Mirrors until aborted. What is mirrored stays. */
  async run(signal: AbortSignal): Promise<void> {
    this.#queue.add(leftoversKey);
    await Promise.all([
      this.#home.observed.run(signal),
      this.#far.observed.run(signal),
      this.#recorder.run(signal),
      this.#queue.run({
        concurrency,
        handler: (key, inner) => (key === leftoversKey ? this.#removeLeftovers(inner) : this.#sync(key, inner)),
        onError: (failure) => this.#onFailure(failure),
        signal,
      }),
    ]);
  }

  /** Looks again for what nodes have left behind, because a node has joined. */
  lookForLeftovers(): void {
    this.#queue.add(leftoversKey);
  }

  #side(name: "home" | "far", server: Pick<ObservedServicesOptions, "client" | "history" | "metrics">): Side {
    const { clock, random, logger } = this.#options;
    const observed = new ObservedServices({
      ...server,
      clock,
      random,
      logger: logger.child({ cluster: name }),
      namespaces: [...new Set(this.#pairs.map((pair) => pair[name]))],
      onChange: (namespace, service) => this.#look(name, namespace, service),
      onListed: (namespace) => {
        for (const pair of this.#pairs.filter((each) => each[name] === namespace)) {
          for (const service of this.#home.observed.names(pair.home)) this.#look("home", pair.home, service);
          for (const service of this.#far.observed.names(pair.far)) this.#look("far", pair.far, service);
        }
      },
    });
    return { client: server.client, observed };
  }

  /** Queues the targets that depend on a Service of this cluster. */
  #look(side: "home" | "far", namespace: string, name: string): void {
    for (const pair of this.#pairs.filter((each) => each[side] === namespace)) {
      for (const direction of this.#directions) {
        const key = keyOf({ direction, namespace: direction === "toFar" ? pair.far : pair.home, name });
        this.#queue.addAfter(key, this.#pace.waitMs(key));
      }
    }
  }

  async #sync(key: string, signal: AbortSignal): Promise<WorkResult | void> {
    // What was just written is usually not yet seen.
    const waitMs = this.#pace.waitMs(key);
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    const view = this.#view(targetOf(key));
    if (!view) return;
    const { chosen, stored, storedSlices, target, farNamespace } = view;
    if (chosen || [stored, ...storedSlices].some((object) => isMirrored(object?.metadata))) {
      const { far, clusterId } = this.#options;
      const owner = await far.ownerReference(mirrorOwner(clusterId), farNamespace, signal);
      await this.#write(key, view, directionRules(target.direction, { ...this.#options, owner }), signal);
    }
    if (!chosen) {
      this.#notices.settled(key);
      this.#pace.forget(key);
    }
  }

  /** @returns `undefined` while a namespace is not listed; afterwards the name is looked at again */
  #view(target: Target): View | undefined {
    const { direction, namespace, name } = target;
    const toFar = direction === "toFar";
    const [source, sink] = toFar ? [this.#home, this.#far] : [this.#far, this.#home];
    const pairs = this.#pairs.filter((pair) => (toFar ? pair.far : pair.home) === namespace);
    const sourceNamespaces = [...new Set(pairs.map((pair) => (toFar ? pair.home : pair.far)))];
    if (!sink.observed.isListed(namespace) || !sourceNamespaces.every((each) => source.observed.isListed(each))) return undefined;
    const candidates = sourceNamespaces.map((each) => source.observed.service(each, name)).filter((each) => each !== undefined);
    const { chosen, refused } = chooseSource(candidates);
    for (const each of refused) this.#notices.clash(each, chosen, namespace);
    if (chosen) this.#notices.unrivaled(chosen);
    return {
      target,
      source,
      sink,
      sourceNamespaces,
      chosen,
      stored: sink.observed.service(namespace, name),
      storedSlices: sink.observed.slices(namespace, name),
      farNamespace: pairs[0]?.far ?? "",
    };
  }

  async #write(key: string, view: View, rules: DirectionRules, signal: AbortSignal): Promise<void> {
    const { target, source, sink, sourceNamespaces, chosen, stored, storedSlices } = view;
    const { namespace, name, direction } = target;
    const [nodeName = ""] = this.#options.nodeNames;
    const wanted = chosen && rules.service(chosen, namespace);
    const step = serviceStep(wanted, stored, rules.isOurs);
    if (step.kind === "taken") {
      // What is left of an earlier copy would be endpoints of somebody else's Service.
      for (const each of sliceSteps([], storedSlices, rules.isOurs))
        await applyStep(sink.client, resources.endpointSlices, each, nodeName, signal);
      return this.#notices.taken(key, direction, chosen, stored);
    }
    if (step.kind === "remove") await confirmServiceGone(source.client, sourceNamespaces, name, signal);
    const copy = (await applyStep(sink.client, resources.services, step, nodeName, signal)) ?? stored;

    const slices = chosen ? rules.slices(chosen, source.observed.slices(chosen.metadata?.namespace ?? "", name), copy) : [];
    const steps = sliceSteps(slices, storedSlices, rules.isOurs);
    for (const each of steps) {
      if (each.kind === "remove" && chosen) await confirmSliceGone(source.client, each.stored, { chosen, scope: rules.scope }, signal);
      await applyStep(sink.client, resources.endpointSlices, each, nodeName, signal);
    }
    if (step.kind !== "nothing" || steps.length > 0) this.#wrote(key, target, [wanted, ...slices]);
    this.#notices.settled(key);
  }

  #wrote(key: string, { direction, namespace, name }: Target, wanted: readonly unknown[]): void {
    const { logger } = this.#options;
    const repairs = this.#pace.wrote(key, JSON.stringify(wanted));
    logger.debug({ direction, namespace, service: name, repairs }, "service mirrored");
    if (repairs === quarrel)
      logger.warn(
        { direction, namespace, service: name },
        "another program changes a mirrored Service or its EndpointSlices again and again; does another virtual node mirror between the same clusters with another configuration?",
      );
  }

  /** Removes what this process's nodes wrote for another configuration: for a namespace that has left the list, or the other direction. */
  async #removeLeftovers(signal: AbortSignal): Promise<void> {
    const { clusterId, nodeNames, home, far, logger } = this.#options;
    const isMirroredNow = (direction: MirrorDirection, homeNamespace: string | undefined, farNamespace: string | undefined): boolean =>
      this.#directions.includes(direction) && this.#pairs.some((pair) => pair.home === homeNamespace && pair.far === farNamespace);
    const inFar = (metadata: DeepReadonly<ObjectMeta> | undefined): boolean =>
      isFarMirror(metadata, clusterId) && !isMirroredNow("toFar", sourceOf(metadata)?.namespace, metadata?.namespace);
    const atHome = (metadata: DeepReadonly<ObjectMeta> | undefined): boolean =>
      isHomeMirror(metadata) && !isMirroredNow("toHome", metadata?.namespace, sourceOf(metadata)?.namespace);
    const farNamespaces = this.#pairs.map((pair) => pair.far);
    const homeNamespaces = this.#pairs.map((pair) => pair.home);
    for (const nodeName of nodeNames) {
      const removed =
        (await removeMirrored({ client: far.connection.client, nodeName, namespaces: farNamespaces, isObsolete: inFar }, signal)) +
        (await removeMirrored({ client: home, nodeName, namespaces: homeNamespaces, isObsolete: atHome }, signal));
      if (removed > 0) logger.info({ node: nodeName, removed }, "mirrored objects of an earlier configuration are removed");
    }
  }

  #onFailure({ key, error, failures, delayMs }: WorkFailure): void {
    // The first conflict is a change that the watch has not shown yet.
    if (isConflict(error) && failures === 1) return;
    this.#options.logger.warn(
      { key, attempt: failures, delayMs: Math.round(delayMs), err: messageOf(error) },
      "a service could not be mirrored; trying again",
    );
    if (key === leftoversKey || failures !== tellAfter || isUnavailable(error)) return;
    const view = this.#view(targetOf(key));
    const service = view?.target.direction === "toHome" ? view.stored : view?.chosen;
    if (service) this.#notices.failed(key, service, error);
  }
}

function keyOf({ direction, namespace, name }: Target): string {
  return `${direction} ${namespace}/${name}`;
}

function targetOf(key: string): Target {
  const [direction, namespace = "", name = ""] = key.split(/[ /]/);
  return { direction: direction === "toFar" ? "toFar" : "toHome", namespace, name };
}
