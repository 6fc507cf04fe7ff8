import { Signal } from "@virtual-kubelet/async";
import type { Clock, Random } from "@virtual-kubelet/clock";
import { isConflict, isInvalidInput, isNotFound, messageOf } from "@virtual-kubelet/errdefs";
import {
  backoffMs,
  retryAfterMsOf,
  type KubeClient,
  type Logger,
  type Metrics,
  type Node,
  type ObjectReference,
  type Store,
} from "@virtual-kubelet/kube-client";
import { kubeletBackoff } from "../api-server/kubelet-backoff.ts";
import { isNewer } from "../api-server/resource-version.ts";
import type { RegisteredNode } from "../virtual-node/options.ts";
import { isNodeReady, type WantedNode } from "./node-object.ts";
import { NodeWriter } from "./node-writer.ts";

/** How often the node is looked at where nothing gives cause to. Source: kubelet's nodeStatusUpdateFrequency. */
const syncIntervalMs = 10_000;

/** For how long after an outage the watch is not relied on: it may come back late, and much happens to a node then. */
const distrustMs = 60_000;

/** How often the node is read meanwhile. */
const distrustIntervalMs = 5_000;

/** Somebody who changes the node back each time we write it is answered no more often than this. */
const contestedIntervalMs = 1_000;

/** Bounds for a node that somebody deletes again and again. */
const reregisterRetry = { initialMs: 500, maxMs: 7_000 };

/** A node that stood this long is not being deleted again and again. */
const settledMs = 120_000;

/** How long to wait after the API server found the node itself wrong: the same again cannot succeed. */
const invalidRetryMs = 60_000;

/** An API server that asks to be left alone for longer than this is asked again all the same. */
const maxRetryAfterMs = 60_000;

/**
 * Reasons of the events that tell of a condition's new status.
 * Source: kubernetes v1.36.3 pkg/kubelet/nodestatus/setters.go.
 */
const conditionReasons: Readonly<Record<string, { readonly True: string; readonly False: string }>> = {
  Ready: { True: "NodeReady", False: "NodeNotReady" },
  MemoryPressure: { True: "NodeHasInsufficientMemory", False: "NodeHasSufficientMemory" },
  DiskPressure: { True: "NodeHasDiskPressure", False: "NodeHasNoDiskPressure" },
  PIDPressure: { True: "NodeHasInsufficientPID", False: "NodeHasSufficientPID" },
};

/** Where the node's events go. */
export interface NodeEventRecorder {
  /** Records an event on an object; returns at once. */
  event(ref: ObjectReference, type: "Normal" | "Warning", reason: string, message: string): void;
}

/** Follows the node object; a `Reflector` is one. */
export interface NodeWatch {
  /** Holds the node, while there is one. */
  readonly store: Store<Node>;
  /** Resolves when the store holds what was there at the start. */
  readonly synced: Promise<void>;
  /** Follows until aborted. */
  run(signal: AbortSignal): Promise<void>;
}

/** What the node is to be, for as long as nothing else happens. */
export interface Want {
  readonly node: WantedNode;
  /** Milliseconds after which it is to be asked for again; absent: no need. */
  readonly validForMs?: number | undefined;
}

/** What {@link NodeKeeper} needs. */
export interface NodeKeeperOptions {
  readonly client: KubeClient;
  readonly nodeName: string;
  readonly watch: NodeWatch;
  /** Milliseconds between heartbeats where nothing changed. */
  readonly reportIntervalMs: number;
  /** What is wanted, given what is there. */
  readonly want: (current: RegisteredNode | undefined) => Want;
  /** Called with each newer state of the node, and with `undefined` when it is gone; returns at once. */
  readonly onNode: (node: RegisteredNode | undefined, previous: RegisteredNode | undefined) => void;
  readonly recorder: NodeEventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Keeps the node object what is wanted: makes it, or adopts what is there, follows it, and writes what differs, whether
 * the wish changed or somebody changed the node.
 */
export class NodeKeeper {
  readonly #options: NodeKeeperOptions;
  readonly #writer: NodeWriter;
  readonly #wake = new Signal();
  #node: RegisteredNode | undefined;
  #uncordons = true;
  #isWatching = false;
  #mustRead = false;
  #distrustUntilMs = 0;
  #registrations = 0;
  #registeredMs = 0;
  #writtenMs = Number.NEGATIVE_INFINITY;
  #contested: Disposable | undefined;

  constructor(options: NodeKeeperOptions) {
    this.#options = options;
    this.#writer = new NodeWriter(options);
  }

  /** The node as last seen; `undefined` before the first time, and while it is gone. */
  get node(): RegisteredNode | undefined {
    return this.#node;
  }

  get #isDistrustful(): boolean {
    return this.#options.clock.monotonic() < this.#distrustUntilMs;
  }

  /** Says that something else may be wanted now. */
  refresh(): void {
    this.#wake.notify();
  }

  /** Says that the API server was away: for a minute the node is read, and not only followed. */
  distrustWatch(): void {
    this.#distrustUntilMs = this.#options.clock.monotonic() + distrustMs;
    this.#wake.notify();
  }

  /** From now on a cordon of ours stays. */
  leaveCordoned(): void {
    this.#uncordons = false;
  }

  /** Keeps the node until aborted, and throws `signal.reason` then. An API server that does not answer is waited for. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await Promise.all([this.#follow(signal), this.#keep(signal)]);
    } finally {
      this.#contested?.[Symbol.dispose]();
    }
  }

  /** Takes what the watch says of the node. */
  async #follow(signal: AbortSignal): Promise<void> {
    const { watch } = this.#options;
    using _changes = watch.store.subscribe((change) => {
      if (change.type === "deleted") this.#onGone(change.uid);
      else this.#onSeen(change.object);
    });
    const running = watch.run(signal);
    await Promise.race([watch.synced, running]);
    this.#isWatching = true;
    await running;
    this.#isWatching = false;
    signal.throwIfAborted();
  }

  async #keep(signal: AbortSignal): Promise<never> {
    const { clock } = this.#options;
    for (let failures = 0; ;) {
      try {
        const validForMs = await this.#sync(signal);
        failures = 0;
        const intervalMs = this.#isDistrustful ? distrustIntervalMs : syncIntervalMs;
        await this.#wake.wait(Math.min(intervalMs, this.#writer.reportDueInMs, validForMs ?? intervalMs), clock, signal);
      } catch (error) {
        signal.throwIfAborted();
        const uid = this.#node?.metadata?.uid;
        if (uid !== undefined && isNotFound(error)) this.#onGone(uid);
        else await this.#backOff(error, ++failures, signal);
      }
    }
  }

  async #backOff(error: unknown, failures: number, signal: AbortSignal): Promise<void> {
    const { clock, logger, random } = this.#options;
    const isInvalid = isInvalidInput(error);
    const askedMs = Math.min(retryAfterMsOf(error) ?? 0, maxRetryAfterMs);
    const delayMs = isInvalid ? invalidRetryMs : Math.max(askedMs, backoffMs(kubeletBackoff, failures, random));
    const fields = { err: messageOf(error), attempt: failures, delayMs: Math.round(delayMs) };
    if (isInvalid) {
      logger.error(fields, "the API server refuses the node as configured or described");
      // A better wish may follow.
      await this.#wake.wait(delayMs, clock, signal);
    } else {
      logger.warn(fields, "cannot update the node; trying again");
      await clock.sleep(delayMs, signal);
    }
  }

  /** @returns after how many milliseconds to look again */
  async #sync(signal: AbortSignal): Promise<number | undefined> {
    // The watch may be behind or refused: what is written now and then is compared with what is there.
    const mayBeStale = this.#mustRead || this.#isDistrustful || !this.#isWatching || this.#writer.reportDueInMs === 0;
    const current = mayBeStale ? await this.#writer.read(signal) : this.#node;
    const hadConflict = this.#mustRead;
    this.#mustRead = false;
    if (!current) return this.#register(hadConflict, signal);
    if (this.#registrations === 0) {
      this.#options.logger.info({ uid: current.metadata?.uid }, "node was there before; adopting it");
      this.#onRegistered();
    }
    this.#accept(current);
    const { node: wanted, validForMs } = this.#options.want(current);
    const written = await this.#writer.write(wanted, current, { uncordon: this.#uncordons }, signal);
    if (written === current) return validForMs;
    this.#writtenMs = this.#options.clock.monotonic();
    this.#accept(written);
    this.#noteChanges(written, current);
    return validForMs;
  }

  /** @param hadConflict - whether the node was there when it was to be made before, and is not there */
  async #register(hadConflict: boolean, signal: AbortSignal): Promise<number | undefined> {
    const { clock, logger, nodeName, random, recorder, want } = this.#options;
    const isAgain = this.#registrations > 0;
    if (isAgain) {
      if (clock.monotonic() - this.#registeredMs > settledMs) this.#registrations = 1;
      await clock.sleep(backoffMs(reregisterRetry, this.#registrations, random), signal);
    }
    const { node: wanted, validForMs } = want(undefined);
    let node: RegisteredNode;
    try {
      node = await this.#writer.create(wanted, signal);
    } catch (error) {
      if (!isConflict(error)) throw error;
      // Somebody was quicker: the next look adopts it. One that does not see it either is no cause for haste.
      this.#mustRead = true;
      if (hadConflict) throw error;
      return 0;
    }
    this.#writtenMs = clock.monotonic();
    logger.info({ uid: node.metadata?.uid, again: isAgain }, "node is registered");
    this.#onRegistered();
    this.#accept(node);
    if (isAgain)
      recorder.event(nodeReference(node), "Normal", "NodeReregistered", `Node ${nodeName} had been deleted and was registered again`);
    else this.#noteChanges(node, undefined);
    return validForMs;
  }

  #onRegistered(): void {
    this.#registrations++;
    this.#registeredMs = this.#options.clock.monotonic();
  }

  #onSeen(seen: RegisteredNode): void {
    if (this.#registrations === 0 || seen.metadata?.resourceVersion === this.#node?.metadata?.resourceVersion) return;
    this.#accept(seen);
    const { clock } = this.#options;
    const waitMs = this.#writtenMs + contestedIntervalMs - clock.monotonic();
    if (waitMs <= 0) return this.#wake.notify();
    this.#contested?.[Symbol.dispose]();
    this.#contested = clock.setTimer(waitMs, () => this.#wake.notify());
  }

  #onGone(uid: string): void {
    const previous = this.#node;
    if (previous?.metadata?.uid !== uid) return;
    this.#options.logger.warn({ uid }, "node was deleted; registering it again");
    this.#node = undefined;
    this.#options.onNode(undefined, previous);
    this.#wake.notify();
  }

  /** Takes a newer state of the node; answers and watch events may overtake each other. */
  #accept(node: RegisteredNode): void {
    const previous = this.#node;
    if (previous && previous.metadata?.uid === node.metadata?.uid && isNewer(previous, node)) return;
    this.#node = node;
    this.#options.onNode(node, previous);
  }

  /** Tells people of conditions that are not as they were, and of a reboot of the machine. */
  #noteChanges(node: RegisteredNode, previous: RegisteredNode | undefined): void {
    const { logger, nodeName, recorder } = this.#options;
    const bootID = node.status?.nodeInfo?.bootID ?? "";
    if (previous?.status?.nodeInfo?.bootID && previous.status.nodeInfo.bootID !== bootID)
      recorder.event(nodeReference(node), "Warning", "Rebooted", `Node ${nodeName} has been rebooted, boot id: ${bootID}`);
    for (const [type, reasons] of Object.entries(conditionReasons)) {
      const status = statusOf(node, type);
      if (status === statusOf(previous, type) || status === "Unknown") continue;
      recorder.event(nodeReference(node), "Normal", reasons[status], `Node ${nodeName} status is now: ${reasons[status]}`);
    }
    const ready = isNodeReady(node);
    if (ready !== isNodeReady(previous)) logger.info({ ready }, "node changed its readiness");
  }
}

/** Status of a condition of the node. One that is not there is not met. */
function statusOf(node: RegisteredNode | undefined, type: string): "True" | "False" | "Unknown" {
  const status = node?.status?.conditions?.find((condition) => condition.type === type)?.status;
  return status === "True" || status === "Unknown" ? status : "False";
}

/** What an event on the node refers to. */
export function nodeReference(node: RegisteredNode): ObjectReference {
  return { apiVersion: "v1", kind: "Node", name: node.metadata?.name, uid: node.metadata?.uid };
}
