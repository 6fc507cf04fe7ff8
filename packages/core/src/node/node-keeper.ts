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
  type ServerHistory,
  type Store,
} from "@virtual-kubelet/kube-client";
import { apiServerBackoff } from "../api-server/api-server-backoff.ts";
import { isRefusedRequest } from "../api-server/refused-request.ts";
import { isNewer } from "../api-server/resource-version.ts";
import type { RegisteredNode } from "../virtual-node/options.ts";
import { isNodeReady, type WantedNode } from "./node-object.ts";
import { NodeWriter } from "./node-writer.ts";
import type { CoreReason } from "../reasons/core-reasons.ts";

/** Interval of checks without a change. Source: kubelet's nodeStatusUpdateFrequency. */
const syncIntervalMs = 10_000;

/** Time after an outage during which the node is also read, because the watch may resume late while others change the node. */
const distrustMs = 60_000;

/** Interval of these reads. */
const distrustIntervalMs = 5_000;

/** The same for one of very many nodes, because so many reads at once would be the next outage. */
const distrustOfManyMs = 30_000;

/** Minimum interval between writes if somebody reverts each of them. */
const contestedIntervalMs = 1_000;

/** Back-off for a node that somebody deletes repeatedly. */
const reregisterRetry = { initialMs: 500, maxMs: 7_000 };

/** A node that has existed for this long resets that back-off. */
const settledMs = 120_000;

/** Delay after the API server refused the node as invalid, because the same request cannot succeed. */
const invalidRetryMs = 60_000;

/** Maximum Retry-After that is respected. */
const maxRetryAfterMs = 60_000;

/**
 * Event reasons by condition and its new status.
 * Source: kubernetes v1.36.3 pkg/kubelet/nodestatus/setters.go.
 */
const conditionReasons: Readonly<Record<string, { readonly True: CoreReason; readonly False: CoreReason }>> = {
  Ready: { True: "NodeReady", False: "NodeNotReady" },
  MemoryPressure: { True: "NodeHasInsufficientMemory", False: "NodeHasSufficientMemory" },
  DiskPressure: { True: "NodeHasDiskPressure", False: "NodeHasNoDiskPressure" },
  PIDPressure: { True: "NodeHasInsufficientPID", False: "NodeHasSufficientPID" },
};

/** Sink for the node's events. */
export interface NodeEventRecorder {
  /** Records an event on an object; returns at once. */
  event(ref: ObjectReference, type: "Normal" | "Warning", reason: CoreReason, message: string): void;
}

/** Follows the node object, as a `Reflector` does. */
export interface NodeWatch {
  /** Contains the node while it exists. */
  readonly store: Store<Node>;
  /** Resolves when the store holds the initial state. */
  readonly synced: Promise<void>;
  /** Whether the store follows the server already, before {@link run}, because the watch is shared. Default: `false`. */
  readonly isCurrent?: boolean | undefined;
  /** Follows until aborted. */
  run(signal: AbortSignal): Promise<void>;
}

/** Desired state of the node until something changes. */
export interface Want {
  readonly node: WantedNode;
  /** Milliseconds after which it has to be computed again. Default: never. */
  readonly validForMs?: number | undefined;
}

export interface NodeKeeperOptions {
  readonly client: KubeClient;
  readonly nodeName: string;
  readonly watch: NodeWatch;
  /** Milliseconds between heartbeats without changes. */
  readonly reportIntervalMs: number;
  /** Computes the desired state from the current one. */
  readonly want: (current: RegisteredNode | undefined) => Want;
  /** Called with each newer state of the node, and with `undefined` when it is gone; returns at once. */
  readonly onNode: (node: RegisteredNode | undefined, previous: RegisteredNode | undefined) => void;
  /** Called when the API server refuses a write or read of the node, so that a repetition alone does not help. Returns at once. */
  readonly onRefused?: (() => void) | undefined;
  readonly recorder: NodeEventRecorder;
  /** Whether there are very many nodes, so that each is read less often after an outage. Default: `false`. */
  readonly isOneOfMany?: boolean | undefined;
  /** Tells when the node's versions have fallen. */
  readonly history?: ServerHistory | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * Keeps the node object in its desired state: creates or adopts it, follows it, and writes the difference, whether
 * the desired state changed or somebody changed the node.
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
  /** Whether the next state counts although its version is lower, because the API server was restored from a backup. */
  #acceptsOlder = false;

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

  get #distrustIntervalMs(): number {
    return this.#options.isOneOfMany ? distrustOfManyMs : distrustIntervalMs;
  }

  /** Requests a comparison, because the desired state may have changed. */
  refresh(): void {
    this.#wake.notify();
  }

  /** Called after an outage of the API server: for a minute the node is also read, not only followed. */
  distrustWatch(): void {
    this.#distrustUntilMs = this.#options.clock.monotonic() + distrustMs;
    this.#wake.notify();
  }

  /** From now on our own cordon is not undone. */
  leaveCordoned(): void {
    this.#uncordons = false;
  }

  /** Maintains the node until aborted. Waits for an API server that does not answer. @throws `signal.reason` when aborted */
  async run(signal: AbortSignal): Promise<void> {
    using _restored = this.#options.history?.onRestored(() => {
      this.#acceptsOlder = true;
      this.distrustWatch();
    });
    try {
      await Promise.all([this.#follow(signal), this.#keep(signal)]);
    } finally {
      this.#contested?.[Symbol.dispose]();
    }
  }

  /** Processes the watch of the node. */
  async #follow(signal: AbortSignal): Promise<void> {
    const { watch } = this.#options;
    using _changes = watch.store.subscribe((change) => {
      if (change.type === "deleted") this.#onGone(change.uid);
      else this.#onSeen(change.object);
    });
    if (watch.isCurrent) this.#isWatching = true;
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
        const intervalMs = this.#isDistrustful ? this.#distrustIntervalMs : syncIntervalMs;
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
    if (isRefusedRequest(error)) this.#options.onRefused?.();
    const isInvalid = isInvalidInput(error);
    const askedMs = Math.min(retryAfterMsOf(error) ?? 0, maxRetryAfterMs);
    const delayMs = isInvalid ? invalidRetryMs : Math.max(askedMs, backoffMs(apiServerBackoff, failures, random));
    const fields = { err: messageOf(error), attempt: failures, delayMs: Math.round(delayMs) };
    if (isInvalid) {
      logger.error(fields, "the API server refuses the node as configured or described");
      // A changed desired state ends the wait.
      await this.#wake.wait(delayMs, clock, signal);
    } else {
      logger.warn(fields, "cannot update the node; trying again");
      await clock.sleep(delayMs, signal);
    }
  }

  /** @returns milliseconds until the next look */
  async #sync(signal: AbortSignal): Promise<number | undefined> {
    // The watch may be late or refused, so a heartbeat compares with a fresh read.
    const isReportDue = this.#registrations > 0 && this.#writer.reportDueInMs === 0;
    const mayBeStale = this.#mustRead || this.#isDistrustful || !this.#isWatching || isReportDue;
    const current = mayBeStale ? await this.#writer.read(signal) : (this.#node ?? this.#firstSeen());
    const hadConflict = this.#mustRead;
    this.#mustRead = false;
    if (!current) return this.#register(hadConflict, signal);
    if (this.#registrations === 0) {
      this.#options.logger.info({ uid: current.metadata?.uid }, "the node exists already; adopting it");
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

  /** The node that was there before this instance; later the store may be older than what is known. */
  #firstSeen(): RegisteredNode | undefined {
    const { nodeName, watch } = this.#options;
    return this.#registrations === 0 ? watch.store.getByName(undefined, nodeName) : undefined;
  }

  /** @param hadConflict - whether the previous creation met an existing node that a read does not find */
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
      // Another client created it first, and the next look adopts it. If that does not find it either, the retry backs off.
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

  /** Accepts only a newer state of the node, because answers and watch events can overtake each other. */
  #accept(node: RegisteredNode): void {
    const previous = this.#node;
    if (previous && previous.metadata?.uid === node.metadata?.uid && isNewer(previous, node) && !this.#acceptsOlder) return;
    this.#acceptsOlder = false;
    this.#node = node;
    this.#options.onNode(node, previous);
  }

  /** Records events for changed conditions and for a reboot of the machine. */
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

/** Returns the status of a condition of the node. An absent condition is False. */
function statusOf(node: RegisteredNode | undefined, type: string): "True" | "False" | "Unknown" {
  const status = node?.status?.conditions?.find((condition) => condition.type === type)?.status;
  return status === "True" || status === "Unknown" ? status : "False";
}

/** Returns the reference to the node for events. */
export function nodeReference(node: RegisteredNode): ObjectReference {
  return { apiVersion: "v1", kind: "Node", name: node.metadata?.name, uid: node.metadata?.uid };
}
