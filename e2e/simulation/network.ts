import type { VirtualClock } from "@virtual-kubelet/clock";
import { kinds, type ApiServer, type InProcessTransport } from "@virtual-kubelet/embedded-apiserver";
import { UnavailableError } from "@virtual-kubelet/errdefs";
import type { TransportRequest } from "@virtual-kubelet/kube-client";
import type { Chance } from "./chance.ts";
import type { Trace } from "./trace.ts";

/** How requests to the API server go. `latencyMs` is in milliseconds; what is not said to be otherwise is a share of the requests. */
export interface NetworkProfile {
  /** Longest way there, and back. */
  readonly latencyMs: number;
  /** The connection breaks before the server has read the request. */
  readonly error: number;
  /** The server does it, and the answer is lost. */
  readonly lost: number;
  /** 429 with Retry-After. */
  readonly tooMany: number;
  /** 503 with Retry-After; the server did nothing. */
  readonly unavailable: number;
  /** Longest Retry-After. */
  readonly longestRetryAfterSeconds: number;
  /** 500; the server did nothing. */
  readonly serverError: number;
  /** 504; the server did it. */
  readonly gatewayTimeout: number;
  /** It takes seconds. */
  readonly slow: number;
  /** No answer comes before the connection counts as dead. */
  readonly hang: number;
  /** Of the chunks of watches: the stream breaks, at a line's end or within it. */
  readonly cutWatch: number;
  /** Of the chunks of watches: nothing comes any more, not even an end. */
  readonly deadWatch: number;
  /** Of the watches that resume: the server says 410, at once or in the stream. */
  readonly expired: number;
  /** Of the reads: something else answers 200, with what is no list and no object of the kind. */
  readonly noList: number;
  /** Of the lists: some objects are not in them. */
  readonly listGaps: number;
  /** Whether the server streams lists; older ones refuse that. */
  readonly streamsLists: boolean;
}

/** Outcome of a request. */
export type RequestFault = "none" | "error" | "lost" | "tooMany" | "unavailable" | "serverError" | "gatewayTimeout" | "slow" | "hang";

/** Options of a {@link Network}. */
export interface NetworkOptions {
  readonly server: ApiServer;
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly trace: Trace;
  readonly profile: NetworkProfile;
  /** Called with each request just before the server does what it asks for. */
  readonly onRequest: (request: TransportRequest) => void;
}

/** The network between the program and the API server. It continues to exist when the program is killed. */
export class Network implements Disposable {
  readonly options: NetworkOptions;
  readonly inner: InProcessTransport;
  readonly #resources = new DisposableStack();
  readonly #watches = new Set<AbortController>();
  #latestVersion = 0;
  #expiredVersion = 0;
  #isUp = true;
  #hasFaults = false;
  #leaseTroubleMs = 0;
  #troubleMs = 0;
  #dead = 0;
  #hidden: ReadonlySet<string> = new Set();
  readonly #everHidden = new Set<string>();

  constructor(options: NetworkOptions) {
    this.options = options;
    this.inner = options.server.transport();
    for (const kind of kinds) {
      const onEvent = ({ object }: { readonly object: { readonly metadata: { readonly resourceVersion?: string | undefined } } }): void => {
        this.#latestVersion = Math.max(this.#latestVersion, Number(object.metadata.resourceVersion));
      };
      this.#resources.use(options.server.cluster.watch(kind, onEvent));
    }
  }

  /** Whether the API server answers. */
  get isUp(): boolean {
    return this.#isUp;
  }

  /** Watches that are open. */
  get openWatches(): number {
    return this.#watches.size;
  }

  /** When the Lease could last not be renewed, for a reason outside the program; monotonic milliseconds. */
  get leaseTroubleMs(): number {
    return this.#isUp ? this.#leaseTroubleMs : this.options.clock.monotonic();
  }

  /** Since when nothing has gone wrong, in monotonic milliseconds; now while requests go wrong as the profile says. */
  get calmSinceMs(): number {
    const isCalm = this.#isUp && this.#hidden.size === 0 && this.#dead === 0 && !(this.#hasFaults && this.options.profile.error > 0);
    return isCalm ? this.#troubleMs : this.options.clock.monotonic();
  }

  /** UIDs of the pods that the server does not show: it answers as if they were not there. */
  get hidden(): ReadonlySet<string> {
    return this.#hidden;
  }

  /** Whether the server did not show the pod at some time. */
  wasHidden(uid: string): boolean {
    return this.#everHidden.has(uid);
  }

  /** The server answers as if these pods were not there, as after a restore from an old backup; or shows all again. */
  hide(uids: ReadonlySet<string>): void {
    this.#hidden = uids;
    for (const uid of uids) this.#everHidden.add(uid);
    this.expireVersions();
    this.cutWatches();
  }

  /** Whether requests go wrong as the profile says. */
  set hasFaults(hasFaults: boolean) {
    this.#troubleMs = this.options.clock.monotonic();
    this.#hasFaults = hasFaults;
  }

  /** The API server goes away, and with it all connections. */
  goDown(): void {
    this.#isUp = false;
    this.cutWatches();
  }

  /** The API server is there again. @param forgets - whether it lost what watches could resume from */
  comeUp(forgets: boolean): void {
    this.#isUp = true;
    this.#troubleMs = this.#leaseTroubleMs = this.options.clock.monotonic();
    if (forgets) this.expireVersions();
  }

  /** No watch can resume from a version of before. */
  expireVersions(): void {
    this.#expiredVersion = this.#latestVersion;
  }

  /** All watches break. */
  cutWatches(): void {
    this.#troubleMs = this.options.clock.monotonic();
    for (const watch of this.#watches) watch.abort(new UnavailableError("read: connection reset by peer"));
  }

  /** Decides the outcome of a request. */
  draw({ pool }: TransportRequest): RequestFault {
    if (!this.#hasFaults) return "none";
    const { chance, clock, profile } = this.options;
    const kinds = ["error", "lost", "tooMany", "unavailable", "serverError", "gatewayTimeout", "slow", "hang"] as const;
    let left = chance.next();
    const fault = kinds.find((kind) => (left -= profile[kind]) < 0) ?? "none";
    // A lost request can cost the renewal as long as its dead connection is waited for.
    if (fault !== "none" && pool === "lease") this.#leaseTroubleMs = clock.monotonic() + 10_000;
    return fault;
  }

  /** Whether a watch cannot resume from a version. */
  hasExpired(version: number): boolean {
    return version <= this.#expiredVersion || this.happens("expired");
  }

  /** Whether a fault of watches happens. */
  happens(fault: "cutWatch" | "deadWatch" | "expired" | "noList" | "listGaps"): boolean {
    return this.#hasFaults && this.options.chance.happens(this.options.profile[fault]);
  }

  /** Notes a watch on which nothing comes any more. @returns what notes its end */
  addDeadWatch(): Disposable {
    this.#dead++;
    return {
      [Symbol.dispose]: () => {
        this.#dead--;
        this.#troubleMs = this.options.clock.monotonic();
      },
    };
  }

  /** Notes a watch that is open. @returns what notes its end */
  addWatch(watch: AbortController): Disposable {
    this.#watches.add(watch);
    return { [Symbol.dispose]: () => void this.#watches.delete(watch) };
  }

  [Symbol.dispose](): void {
    this.#resources.dispose();
  }
}
