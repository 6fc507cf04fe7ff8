import { VirtualClock } from "@virtual-kubelet/clock";
import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type KubeClient, type Pod } from "@virtual-kubelet/kube-client";
import { BackEnd } from "./back-end.ts";
import type { Instance } from "./instance.ts";
import { Chance } from "./chance.ts";
import { DeletionWatch } from "./deletion-watch.ts";
import { canary, Invariants, leaseKind, podKind, toPod } from "./invariants.ts";
import type { Reachability } from "./model-provider.ts";
import { Network } from "./network.ts";
import { drawProfile, type Profile, type WorldKind } from "./profile.ts";
import { nodeName, Program } from "./program.ts";
import { ProcessClock, settle } from "./process-clock.ts";
import { Trace } from "./trace.ts";

/** Namespace of a world's pods. */
export const namespace = "default";

/** Name of the secret that pods read. */
export const secretName = "credentials";

/** How long an instance with another identity watches a Lease before it takes it, and then some; in milliseconds. */
const takeoverMs = 50_000;

/** Annotation of a node's Lease: the identity of the instance that holds it. */
const instanceAnnotation = "virtual-kubelet.io/instance";

/** How long after the last trouble the program may wait before it lists and watches again, in milliseconds. */
const relistMs = 60_000;

/** Options of a world besides its seed. */
export interface WorldOptions {
  /** Events that are kept of it. Default 2,000. */
  readonly traceLimit?: number | undefined;
  /** Default: what the seed has it be. */
  readonly kind?: WorldKind | undefined;
}

/** A cluster, a cloud, the network between them, and one node's program, all of one seed. */
export class World implements AsyncDisposable {
  readonly profile: Profile;
  readonly chance: Chance;
  readonly clock: VirtualClock;
  readonly trace: Trace;
  readonly server: ApiServer;
  /** The users' way to the API server; nothing goes wrong on it. */
  readonly client: KubeClient;
  readonly invariants: Invariants;
  readonly backEnd: BackEnd;
  readonly network: Network;
  readonly reachability: Reachability = { isUp: true, downMs: 0, hasFaults: false, refused: new Set(), partialLists: 0, isStuck: false };
  /** UIDs of the pods whose labels were edited while the program ran that had made them. */
  readonly relabelled: Map<string, Program> = new Map();
  /** Signal of the users' requests; aborts when the world ends. */
  readonly users: AbortSignal;
  readonly #end = new AbortController();
  readonly #seed: number;
  /** What the cloud has ahead of it. */
  readonly #cloudClock: ProcessClock;
  /** UIDs of the pods that the back end has lost. */
  readonly lost: Set<string> = new Set();
  /** By UID, the instance that the back end has removed because it had ended by itself. */
  readonly forgotten: Map<string, Instance> = new Map();
  #program: Program | undefined;
  /** Another instance that wants the same node. */
  #rival: Program | undefined;
  #programSinceMs = 0;
  #hadTwoInstances = false;
  #contestedMs = -Infinity;
  #identity = nodeName;
  #instances = 1;
  /** Until when nobody may hold the Lease, because an instance takes it from another; monotonic milliseconds. */
  #leaseFromMs = 0;
  /** The brake's limit as the operator set it. */
  #maxPerSweep: number | undefined;
  /** Limit that the last message about a suspected mass loss recommends. */
  #suspected: number | undefined;
  #pods = 0;
  readonly #deletions: DeletionWatch;
  /** Instances whose loss the back end does not tell of. */
  readonly #silent = new Set<string>();

  private constructor(
    seed: number,
    { clock, server, traceLimit, kind }: WorldOptions & { readonly clock: VirtualClock; readonly server: ApiServer },
  ) {
    this.#seed = seed;
    this.users = this.#end.signal;
    this.clock = clock;
    this.server = server;
    this.profile = drawProfile(new Chance(seed, "profile"), kind);
    this.chance = new Chance(seed, "scenario");
    this.trace = new Trace(() => clock.monotonic(), traceLimit ?? 2_000);
    this.client = createKubeClient(server.transport(), { clock });
    this.invariants = new Invariants({
      server,
      clock,
      trace: this.trace,
      backEnd: () => this.backEnd,
      onDeleted: (uid, name) => this.#deletions.onDeleted(uid, name),
      endsWhenGone: this.profile.provider.style.endsWhenGone,
      hadTwoInstances: () => this.#hadTwoInstances,
      heldSinceMs: () => this.#program?.calls.heldSinceMs ?? Infinity,
      isContested: () => this.#isContested,
      calmSinceMs: () => this.network.calmSinceMs,
    });
    this.#deletions = new DeletionWatch({
      clock,
      invariants: this.invariants,
      instancesOf: (uid) => this.backEnd.of(uid),
      freeSinceMs: (uid) => this.#freeSinceMs(uid),
      programOf: (uid) => (this.#program?.node.health.ready === true && !this.network.wasHidden(uid) ? this.#program : undefined),
      deleteCalledMs: (uid) => this.#program?.calls.deleteCalledMs(uid),
    });
    this.#cloudClock = new ProcessClock(clock, 0);
    this.backEnd = new BackEnd({
      clock: this.#cloudClock,
      chance: new Chance(seed, "back end"),
      trace: this.trace,
      timings: this.profile.backEnd,
      isIdempotent: this.profile.isIdempotent,
      onChange: (instance, change) => {
        if (change === "created") this.invariants.onInstance(instance);
        if (this.#silent.has(instance.ref.uid)) return;
        for (const program of [this.#program, this.#rival]) program?.provider?.notify(instance, change === "removed");
      },
      onForgotten: (instance) => void this.forgotten.set(instance.ref.uid, instance),
    });
    this.network = new Network({
      server,
      clock,
      chance: new Chance(seed, "network"),
      trace: this.trace,
      profile: this.profile.network,
      onRequest: (request) => this.invariants.onRequest(request),
    });
  }

  /** Makes the world of a seed; its program is not started. */
  static async create(seed: number, { traceLimit, kind }: WorldOptions = {}): Promise<World> {
    const clock = new VirtualClock(undefined, { settled: settle });
    const server = await startApiServer({ listen: false, clock, random: new Chance(seed, "api server"), token: "simulation" });
    const world = new World(seed, { clock, server, traceLimit, kind });
    await world.client.create(
      resources.secrets,
      { metadata: { name: secretName, namespace }, data: { token: Buffer.from(canary).toString("base64") } },
      { signal: world.users },
    );
    await world.client.create(resources.namespaces, { metadata: { name: "elsewhere" } }, { signal: world.users });
    for (const [name, where] of [["own", namespace] as const, ["foreign", "elsewhere"] as const]) {
      const service = { metadata: { name, namespace: where }, spec: { ports: [{ port: 80 }] } };
      await world.client.create(resources.services, service, { signal: world.users });
    }
    return world;
  }

  /** The program, if it runs. */
  get program(): Program | undefined {
    return this.#program;
  }

  /** Whether two instances ran the node at one time. */
  get hadTwoInstances(): boolean {
    return this.#hadTwoInstances;
  }

  /** Since when the program is the one that holds the node, or is to, in monotonic milliseconds. */
  get programSinceMs(): number {
    return this.#programSinceMs;
  }

  /** The pods at the API server. */
  get pods(): Pod[] {
    return this.server.cluster.list(podKind).map(toPod);
  }

  /** The provider's calls that have not come back, a sentence for each. */
  get callsUnderWay(): string[] {
    return [this.#program, this.#rival].flatMap((program) => (program && !program.end ? program.calls.underWay : []));
  }

  /** Another instance that wants the same node, if there is one. */
  get rival(): Program | undefined {
    return this.#rival;
  }

  /** Limit of the brake that the last message about a suspected mass loss recommends; absent if there was no message since the last start. */
  get suspected(): number | undefined {
    return this.#suspected;
  }

  /**
   * Starts the program, unless it runs. Where another instance stands by, that one takes its place.
   *
   * @param isOther - with another identity than the last one: the node is taken over once its Lease stands still
   */
  start(isOther: boolean = false): void {
    if (this.#program) return;
    if (this.#rival) {
      this.#program = this.#rival;
      this.#rival = undefined;
      this.#identity = this.#program.identity;
      this.#programSinceMs = this.clock.monotonic();
      this.#leaseFromMs = this.clock.monotonic() + takeoverMs;
      return;
    }
    if (isOther) this.#identity = this.#nextIdentity();
    const holder = this.server.cluster.get(leaseKind, "kube-node-lease", nodeName)?.metadata.annotations?.[instanceAnnotation];
    if (holder !== undefined && holder !== this.#identity) this.#leaseFromMs = this.clock.monotonic() + takeoverMs;
    this.#suspected = undefined;
    this.#programSinceMs = this.clock.monotonic();
    this.#program = this.#make(this.#identity, false);
  }

  /**
   * Starts another instance while the first may be alive, unless there are two.
   *
   * @param isCopy - with the identity of the first, from which it takes the node at once
   */
  startRival({ isCopy, isStandby }: { readonly isCopy: boolean; readonly isStandby: boolean }): void {
    if (this.#rival) return;
    this.#rival = this.#make(isCopy ? this.#identity : this.#nextIdentity(), isStandby, isCopy);
  }

  /** The operator does what a message about a suspected mass loss says, if there was one. @returns whether */
  async raiseBrake(): Promise<boolean> {
    if (this.#suspected === undefined) return false;
    this.#maxPerSweep = this.#suspected + 5;
    this.trace.add("operator: raises orphans.maxPerSweep to", this.#maxPerSweep);
    await this.stop();
    this.start();
    return true;
  }

  /** Kills the program, if it runs. */
  kill(): void {
    this.#program?.kill();
    this.#program = undefined;
  }

  /** Stops the program as SIGTERM does, and sees that it lets go of everything. */
  async stop(): Promise<void> {
    const program = this.#program;
    if (program) await this.#stop(program);
    this.#program = undefined;
  }

  /** Stops the other instance, if there is one. */
  async stopRival(): Promise<void> {
    const rival = this.#rival;
    if (rival) await this.#stop(rival);
    this.#rival = undefined;
  }

  /** Lets time pass, and looks at what holds at any time. */
  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
    if (!this.reachability.isUp) this.reachability.downMs = this.clock.monotonic();
    this.#reap();
    const program = this.#program;
    if (!program) return;
    if (program.end) this.invariants.report("I5", `the program ended by itself: ${String(describeEnd(program.end))}`);
    const claimMs = this.invariants.leaseRenewedMs < this.#leaseFromMs - takeoverMs ? takeoverMs : 0;
    this.invariants.checkLease(Math.max(program.startedMs, this.#leaseFromMs, this.network.leaseTroubleMs + claimMs));
  }

  /** A name no pod had before. */
  nextName(): string {
    return `pod-${++this.#pods}`;
  }

  /** The back end loses a pod. @param silently - whether it does not tell */
  lose(uid: string, silently: boolean): void {
    this.lost.add(uid);
    if (silently) this.#silent.add(uid);
    this.backEnd.lose(uid);
    this.#silent.delete(uid);
  }

  #make(identity: string, isStandby: boolean, isCopy: boolean = false): Program {
    // Two processes draw different random numbers, also those that start at the same time with one identity.
    const start = `${this.clock.monotonic()} ${identity}${isCopy ? " copy" : ""}`;
    return new Program({
      clock: this.clock,
      chance: new Chance(this.#seed, `program ${start}`),
      trace: this.trace,
      network: this.network,
      invariants: this.invariants,
      provider: {
        backEnd: this.backEnd,
        profile: this.profile.provider,
        reachability: this.reachability,
        cloudClock: this.#cloudClock,
        chance: new Chance(this.#seed, `provider ${start}`),
        trace: this.trace,
      },
      pods: {
        ...(this.profile.pollIntervalMs !== undefined && { pollIntervalMs: this.profile.pollIntervalMs }),
        ...(this.#maxPerSweep !== undefined && { orphans: { maxPerSweep: this.#maxPerSweep } }),
      },
      identity,
      isStandby,
      skewMs: this.profile.skewMs,
      // A copy takes the Lease from a living instance, and any other one takes one that was deleted.
      onHeld: () => void (this.#hadTwoInstances ||= [this.#program, this.#rival].every((program) => program?.holdsNode)),
      onLog: (fields, message) => {
        const [, limit] = /raise orphans\.maxPerSweep to (\d+)/.exec(message) ?? [];
        if (limit !== undefined) this.#suspected = Number(limit);
        this.invariants.onLog(fields, message);
      },
    });
  }

  #nextIdentity(): string {
    return `${nodeName}-${++this.#instances}`;
  }

  async #stop(program: Program): Promise<void> {
    program.stop();
    // What a shutdown may take by default, and the last events' time.
    for (let seconds = 0; seconds < 40 && !program.end; seconds++) await this.clock.advance(1_000);
    if (!program.end) this.invariants.report("I9", "the program has not stopped within 40 s");
    else if (program.end !== "stopped" && !program.hasLostNode)
      this.invariants.report("I9", `the program ended with ${String(describeEnd(program.end))}`);
    await this.#bury(program);
  }

  /** Sees that a program that has ended lets go of everything. */
  async #bury(program: Program): Promise<void> {
    await this.clock.advance(0);
    this.#checkHeld(program);
    program.kill();
  }

  #checkHeld(program: Program): void {
    const { timers, requests } = program.held;
    if (timers > 0 || requests > 0)
      this.invariants.report("I9", `the program has stopped and holds ${timers} timers and ${requests} requests`);
  }

  /** Whether two instances run the node, or did until a moment ago. */
  get #isContested(): boolean {
    return (this.#rival !== undefined && !this.#rival.isStandby) || this.clock.monotonic() < this.#contestedMs + 5_000;
  }

  /** Of two instances that want the node one ends. */
  #reap(): void {
    const nowMs = this.clock.monotonic();
    if (this.#rival && !this.#rival.isStandby) this.#contestedMs = nowMs;
    if (this.#rival?.hasLostNode) {
      this.#checkHeld(this.#rival);
      this.#rival.kill();
      this.#rival = undefined;
      this.#leaseFromMs = Math.max(this.#leaseFromMs, nowMs);
    }
    if (!this.#program?.hasLostNode) return;
    this.#checkHeld(this.#program);
    this.#program.kill();
    this.#program = undefined;
    // Where both saw the other one's Lease, as they may where answers are lost, somebody starts one again.
    if (!this.#rival && nowMs - this.network.calmSinceMs > 120_000)
      this.invariants.report("I5", "of two instances that want the node none runs on");
    this.start();
    this.#leaseFromMs = nowMs + takeoverMs;
  }

  /** See `DeletionWatchOptions`. */
  #freeSinceMs(uid: string): number | undefined {
    const nowMs = this.clock.monotonic();
    const program = this.#program;
    if (!program || program.end || program.isStopping || !program.node.health.ready || !this.reachability.isUp) return undefined;
    if (this.#rival && !this.#rival.isStandby) return undefined;
    // The brake holds what may be no deletion.
    if (this.#suspected !== undefined) return undefined;
    const sinceMs = Math.max(this.network.calmSinceMs + relistMs, this.reachability.downMs, program.calls.busyMs(uid), this.#leaseFromMs);
    return sinceMs >= nowMs ? undefined : sinceMs;
  }

  /** Ends the world, and sees that the API server lets go of everything, too. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
    this.#rival?.kill();
    this.#deletions[Symbol.dispose]();
    this.#end.abort(new Error("the world ends"));
    this.network[Symbol.dispose]();
    this.invariants[Symbol.dispose]();
    await this.server.close();
    await this.clock.advance(0);
    const timers = this.clock.pending - this.#cloudClock.pending;
    if (timers > 0) this.invariants.report("I9", `the API server is closed and holds ${timers} timers`);
  }
}

function describeEnd(end: { readonly error: unknown } | "stopped"): unknown {
  return end === "stopped" ? end : end.error;
}
