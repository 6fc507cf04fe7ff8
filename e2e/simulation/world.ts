import { startApiServer, type ApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createKubeClient, resources, type KubeClient, type Pod } from "@virtual-kubelet/kube-client";
import { BackEnd } from "./back-end.ts";
import { Chance } from "./chance.ts";
import { canary, Invariants, podKind, toPod } from "./invariants.ts";
import type { Reachability } from "./model-provider.ts";
import { Network } from "./network.ts";
import { drawProfile, type Profile, type WorldKind } from "./profile.ts";
import { Program } from "./program.ts";
import { ProcessClock, SimulatedClock } from "./simulated-clock.ts";
import { Trace } from "./trace.ts";

/** Where the pods of a world are. */
export const namespace = "default";

/** Name of the secret that pods read. */
export const secretName = "credentials";

/** What a world may be given besides its seed. */
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
  readonly clock: SimulatedClock;
  readonly trace: Trace;
  readonly server: ApiServer;
  /** The users' way to the API server; nothing goes wrong on it. */
  readonly client: KubeClient;
  readonly invariants: Invariants;
  readonly backEnd: BackEnd;
  readonly network: Network;
  readonly reachability: Reachability = { isUp: true, hasFaults: false, refused: new Set() };
  /** UIDs of the pods whose labels were edited while the program ran that had made them. */
  readonly relabelled: Map<string, Program> = new Map();
  /** What the users' requests heed; it aborts with the world's end. */
  readonly users: AbortSignal;
  readonly #end = new AbortController();
  readonly #seed: number;
  /** What the cloud has ahead of it. */
  readonly #cloudClock: ProcessClock;
  /** UIDs of the pods that the back end has lost. */
  readonly lost: Set<string> = new Set();
  #program: Program | undefined;
  #pods = 0;
  /** Instances whose loss the back end does not tell of. */
  readonly #silent = new Set<string>();

  private constructor(
    seed: number,
    { clock, server, traceLimit, kind }: WorldOptions & { readonly clock: SimulatedClock; readonly server: ApiServer },
  ) {
    this.#seed = seed;
    this.users = this.#end.signal;
    this.clock = clock;
    this.server = server;
    this.profile = drawProfile(new Chance(seed, "profile"), kind);
    this.chance = new Chance(seed, "scenario");
    this.trace = new Trace(() => clock.monotonic(), traceLimit ?? 2_000);
    this.client = createKubeClient(server.transport(), { clock });
    this.invariants = new Invariants({ server, clock, trace: this.trace, backEnd: () => this.backEnd });
    this.#cloudClock = new ProcessClock(clock, 0);
    this.backEnd = new BackEnd({
      clock: this.#cloudClock,
      chance: new Chance(seed, "back end"),
      trace: this.trace,
      timings: this.profile.backEnd,
      isIdempotent: this.profile.isIdempotent,
      onChange: (instance, change) => {
        if (change === "created") this.invariants.onInstance(instance);
        if (!this.#silent.has(instance.ref.uid)) this.#program?.provider?.notify(instance, change === "removed");
      },
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
    const clock = new SimulatedClock();
    const server = await startApiServer({ listen: false, clock, random: new Chance(seed, "api server"), token: "simulation" });
    const world = new World(seed, { clock, server, traceLimit, kind });
    await world.client.create(
      resources.secrets,
      { metadata: { name: secretName, namespace }, data: { token: Buffer.from(canary).toString("base64") } },
      { signal: world.users },
    );
    return world;
  }

  /** The program, if it runs. */
  get program(): Program | undefined {
    return this.#program;
  }

  /** The pods at the API server. */
  get pods(): Pod[] {
    return this.server.cluster.list(podKind).map(toPod);
  }

  /** Starts the program, unless it runs. */
  start(): void {
    if (this.#program) return;
    this.invariants.onStart();
    this.#program = new Program({
      clock: this.clock,
      chance: new Chance(this.#seed, `program ${this.clock.monotonic()}`),
      trace: this.trace,
      network: this.network,
      provider: {
        backEnd: this.backEnd,
        profile: this.profile.provider,
        reachability: this.reachability,
        cloudClock: this.#cloudClock,
        chance: new Chance(this.#seed, `provider ${this.clock.monotonic()}`),
        trace: this.trace,
        watch: this.invariants,
      },
      pods: {
        workers: this.profile.workers,
        providerTimeoutMs: 20_000,
        orphans: { graceMs: 20_000, intervalMs: 60_000, maxPerSweep: 100_000 },
      },
      skewMs: this.profile.skewMs,
      onLog: (fields, message) => this.invariants.onLog(fields, message),
    });
  }

  /** Kills the program, if it runs. */
  kill(): void {
    this.#program?.kill();
    this.#program = undefined;
  }

  /** Stops the program as SIGTERM does, and sees that it lets go of everything. */
  async stop(): Promise<void> {
    const program = this.#program;
    if (!program) return;
    program.stop();
    // What a shutdown may take by default, and the last events' time.
    for (let seconds = 0; seconds < 40 && !program.end; seconds++) await this.clock.run(1_000);
    if (!program.end) this.invariants.report("I9", "the program has not stopped within 40 s");
    else if (program.end !== "stopped") this.invariants.report("I9", `the program ended with ${String(program.end.error)}`);
    await this.clock.run(0);
    const { timers, requests } = program.held;
    if (timers > 0 || requests > 0)
      this.invariants.report("I9", `the program has stopped and holds ${timers} timers and ${requests} requests`);
    program.kill();
    this.#program = undefined;
  }

  /** Lets time pass, and looks at what holds at any time. */
  async pass(ms: number): Promise<void> {
    await this.clock.run(ms);
    const program = this.#program;
    if (!program) return;
    if (program.end) this.invariants.report("I5", `the program ended by itself: ${JSON.stringify(program.end)}`);
    this.invariants.checkLease(Math.max(program.startedMs, this.network.leaseTroubleMs));
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

  /** Ends the world, and sees that the API server lets go of everything, too. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
    this.#end.abort(new Error("the world ends"));
    this.network[Symbol.dispose]();
    this.invariants[Symbol.dispose]();
    await this.server.close();
    await this.clock.run(0);
    const timers = this.clock.pending - this.#cloudClock.pending;
    if (timers > 0) this.invariants.report("I9", `the API server is closed and holds ${timers} timers`);
  }
}
