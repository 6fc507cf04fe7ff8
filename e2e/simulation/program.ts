import type { VirtualClock } from "@virtual-kubelet/clock";
import { kubernetesVersion, NodeHeldError, VirtualNode, type PodOptions, type ProviderDefinition } from "@virtual-kubelet/core";
import { createKubeClient, type LogFields, type Logger } from "@virtual-kubelet/kube-client";
import type { Chance } from "./chance.ts";
import { FaultTransport } from "./fault-transport.ts";
import { capabilities, ModelProvider, type ModelProviderOptions } from "./model-provider.ts";
import type { Invariants } from "./invariants.ts";
import { LeaseWatch } from "./lease-watch.ts";
import type { Network } from "./network.ts";
import { ProgramCalls } from "./program-calls.ts";
import { ProcessClock } from "./process-clock.ts";
import type { Trace } from "./trace.ts";

/** The node that is simulated. */
export const nodeName = "sim";

/** Options of a {@link Program}. */
export interface ProgramOptions {
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly trace: Trace;
  readonly network: Network;
  readonly invariants: Invariants;
  readonly provider: Omit<ModelProviderOptions, "clock" | "libraryClock" | "owner" | "watch" | "isGone">;
  readonly pods: PodOptions;
  /** Identity of the instance. */
  readonly identity: string;
  /** Whether it waits for another instance to go. */
  readonly isStandby: boolean;
  /** How far its wall clock is ahead of the cluster's, in milliseconds. */
  readonly skewMs: number;
  /** Called each time it has written the node's Lease. */
  readonly onHeld: () => void;
  /** Called with each log line. */
  readonly onLog: (fields: LogFields, message: string) => void;
}

/** One run of the program, from its start until it is stopped or killed. */
export class Program {
  readonly node: VirtualNode;
  readonly startedMs: number;
  readonly identity: string;
  readonly isStandby: boolean;
  /** The calls to its provider. */
  readonly calls: ProgramCalls;
  readonly #options: ProgramOptions;
  readonly #clock: ProcessClock;
  readonly #libraryClock: ProcessClock;
  readonly #transport: FaultTransport;
  readonly #stop = new AbortController();
  #provider: ModelProvider | undefined;
  #end: { readonly error: unknown } | "stopped" | undefined;
  #isDead = false;

  /** Starts it. */
  constructor(options: ProgramOptions) {
    this.#options = options;
    this.startedMs = options.clock.monotonic();
    this.identity = options.identity;
    this.isStandby = options.isStandby;
    this.calls = new ProgramCalls(options.invariants, options.clock, { startedMs: this.startedMs, skewMs: options.skewMs });
    this.#clock = new ProcessClock(options.clock, options.skewMs);
    this.#libraryClock = new ProcessClock(options.clock, options.skewMs);
    const lease = new LeaseWatch(options.invariants, options.clock, {
      onHeld: () => {
        this.calls.onHeld();
        options.onHeld();
      },
      onLostNode: () => this.calls.onLostNode(),
    });
    this.#transport = new FaultTransport(options.network, this.#clock, lease);
    this.node = new VirtualNode({
      client: createKubeClient(this.#transport, { clock: this.#clock }),
      provider: this.#definition(),
      providerConfig: {},
      node: {
        name: nodeName,
        taints: [],
        kubeletVersion: kubernetesVersion,
        instance: { identity: options.identity, standby: options.isStandby },
      },
      pods: options.pods,
      clock: this.#clock,
      random: options.chance,
      logger: traceLogger(options),
    });
    options.trace.add("program: starts as", options.identity, options.isStandby ? "and stands by" : "");
    this.node.run(this.#stop.signal).then(
      () => (this.#end = "stopped"),
      (error: unknown) => (this.#end = { error }),
    );
  }

  /** How it ended by itself or by {@link stop}; `undefined` while it runs. */
  get end(): { readonly error: unknown } | "stopped" | undefined {
    return this.#end;
  }

  /** Whether it was told to stop. A stopping program starts no new work. */
  get isStopping(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Resources still open: timers, requests and watches. */
  get held(): { readonly timers: number; readonly requests: number } {
    return { timers: this.#clock.pending, requests: this.#transport.underWay };
  }

  /** Whether it has taken the node, and neither ended nor been told to. */
  get holdsNode(): boolean {
    return this.calls.heldSinceMs < Infinity && !this.#end && !this.#stop.signal.aborted;
  }

  /** Whether it ended because another instance holds its node. */
  get hasLostNode(): boolean {
    return typeof this.#end === "object" && this.#end.error instanceof NodeHeldError;
  }

  /** The provider; absent before it is made, and when the program is dead. */
  get provider(): ModelProvider | undefined {
    return this.#isDead || this.#end ? undefined : this.#provider;
  }

  /** Asks it to stop, as SIGTERM does. */
  stop(): void {
    this.#options.trace.add("program: is told to stop");
    this.#stop.abort(new Error("the program is told to stop"));
  }

  /** Kills it: whatever was under way is dropped where it was. */
  kill(): void {
    this.#options.trace.add("program: is killed");
    this.#isDead = true;
    this.#transport.kill();
    this.#clock.kill();
    this.#libraryClock.kill();
  }

  #definition(): ProviderDefinition {
    return {
      name: "model",
      capabilities,
      configSchema: { safeParse: (input: unknown) => ({ success: true, data: input }) },
      create: ({ clusterId, nodeName: name }) => {
        this.#provider = new ModelProvider({
          ...this.#options.provider,
          clock: this.#clock,
          libraryClock: this.#libraryClock,
          watch: this.calls,
          isGone: () => this.#isDead,
          owner: { clusterId, nodeName: name },
        });
        return this.#provider;
      },
    };
  }
}

function traceLogger({ trace, onLog }: ProgramOptions): Logger {
  const log =
    (level: string) =>
    (fields: LogFields, message: string): void => {
      trace.add("log:", level, message, fields);
      onLog(fields, message);
    };
  const logger: Logger = { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error"), child: () => logger };
  return logger;
}
