import { Readable, Writable } from "node:stream";
import type { AttachIO, Clock, Container, Pod, PodRef, PodUpdate, ProviderPodStatus, ResolvedPod } from "@virtual-kubelet/core";
import { mockConfigSchema } from "../config.ts";
import { MockProvider } from "../mock-provider.ts";
import type { UsedAddresses } from "../pod/used-addresses.ts";

/** What a test's pod differs in from one plain running container named `main`. */
export interface PodShape {
  readonly name?: string;
  readonly uid?: string;
  readonly namespace?: string;
  readonly labels?: Record<string, string>;
  /** Without their domain: `exit-after`, or `CONTAINER.exit-after`. */
  readonly script?: Record<string, string>;
  readonly restartPolicy?: "Always" | "OnFailure" | "Never";
  readonly containers?: Container[];
  readonly initContainers?: Container[];
  readonly hostNetwork?: boolean;
  readonly volumes?: Volume[];
}

type Volume = NonNullable<NonNullable<Pod["spec"]>["volumes"]>[number];

/** A pod of that shape. */
export function podOf({ name = "web", uid = `uid-${name}`, namespace = "default", script = {}, ...shape }: PodShape = {}): Pod {
  const annotations = Object.fromEntries(
    Object.entries(script).map(([field, value]) => {
      const [last = "", container] = field.split(".").reverse();
      return [`${container === undefined ? "" : `${container}.`}mock.virtual-kubelet.io/${last}`, value];
    }),
  );
  return {
    metadata: { name, uid, namespace, annotations, labels: shape.labels },
    spec: {
      restartPolicy: shape.restartPolicy,
      hostNetwork: shape.hostNetwork,
      containers: shape.containers ?? [{ name: "main", image: "nginx" }],
      initContainers: shape.initContainers,
      volumes: shape.volumes,
    },
  };
}

/** What names that pod. */
export function refOf({ metadata }: Pod): PodRef {
  return { namespace: metadata?.namespace ?? "", name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
}

/** What the rig's pods refer to. */
export interface Referred {
  /** Environment of every container. */
  env?: Record<string, string>;
  /** Files of volumes by name. */
  volumes?: Record<string, Record<string, string>>;
}

/** What a rig's node differs in from one named `vk` without other nodes in its process. */
export interface NodeShape {
  readonly nodeName?: string;
  /** Shared with other nodes. */
  readonly used?: UsedAddresses;
}

/** A mock provider on a clock that obeys, with every report it makes. */
export class MockRig<TestClock extends Clock> {
  readonly clock: TestClock;
  readonly updates: PodUpdate[] = [];
  readonly environments: string[] = [];
  readonly referred: Referred = {};
  /** The node's pods at the API server, for a provider that asks for them. */
  listed: readonly Pod[] = [];
  readonly provider: MockProvider;
  readonly signal: AbortSignal = new AbortController().signal;

  constructor(clock: TestClock, config: unknown = {}, { nodeName = "vk", used }: NodeShape = {}) {
    this.clock = clock;
    const parsed = mockConfigSchema.safeParse(config);
    if (!parsed.success) throw new Error(parsed.error.issues.map(({ message }) => message).join());
    const access = { resolvePod: () => this.#resolved, listPods: () => this.listed };
    const host = { nodeName, clusterId: "c", nodeAddress: "192.0.2.1", clock, ...access };
    this.provider = new MockProvider(host, parsed.data, used);
    this.provider.notifyPods((update) => this.updates.push(update));
  }

  /** Creates the pod; its environment and volumes hold what is {@link referred} to. */
  async create(pod: Pod): Promise<PodRef> {
    await this.provider.createPod(pod, this.#resolved, this.signal);
    return refOf(pod);
  }

  /** Runs a command in the pod's container `main`. */
  async exec(pod: PodRef, command: readonly string[], input: string | Readable = ""): Promise<{ code: number; out: string; err: string }> {
    const io = captureIO({ stdin: typeof input === "string" ? Readable.from(input === "" ? [] : [Buffer.from(input)]) : input });
    const { exitCode } = await this.provider.runInContainer(pod, "main", command, io, this.signal);
    return { code: exitCode, out: io.out(), err: io.err() };
  }

  /** Runs a script in the pod's container `main`. */
  sh(pod: PodRef, script: string, input?: string | Readable): Promise<{ code: number; out: string; err: string }> {
    return this.exec(pod, ["sh", "-c", script], input);
  }

  readonly #resolved: ResolvedPod = {
    environment: async (container) => {
      this.environments.push(container);
      return Object.entries(this.referred.env ?? {}).map(([name, value]) => ({ name, value }));
    },
    commandLine: async () => ({ command: [], args: [] }),
    volume: async (name) => ({
      files: Object.entries(this.referred.volumes?.[name] ?? {}).map(([path, text]) => ({ path, mode: 0o644, content: Buffer.from(text) })),
    }),
    async *watchVolume() {},
    configMap: async () => ({}),
    secret: async () => ({}),
    serviceVariables: async () => [],
  };

  /** The last report's status. */
  get last(): ProviderPodStatus {
    const update = this.updates.at(-1);
    if (!update || !("status" in update)) throw new Error("no status was reported");
    return update.status;
  }

  /** The last report, short: phase, then each container's state. */
  get shown(): string {
    const { phase, initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = this.last;
    const states = [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses].map(({ state, ready, restartCount }) => {
      const text = state?.running ? "running" : state?.terminated ? `exit ${state.terminated.exitCode}` : (state?.waiting?.reason ?? "?");
      return `${text}${ready ? " ready" : ""}${restartCount > 0 ? ` #${restartCount}` : ""}`;
    });
    return `${phase}: ${states.join(", ")}`;
  }
}

/** Streams of a command that keep what is written. */
export function captureIO({ stdin, tty = false }: { stdin?: Readable; tty?: boolean } = {}): AttachIO & { out(): string; err(): string } {
  const written = { out: [] as Buffer[], err: [] as Buffer[] };
  const collect = (chunks: Buffer[]): Writable =>
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        chunks.push(Buffer.from(chunk));
        done();
      },
    });
  return {
    stdin,
    stdout: collect(written.out),
    stderr: tty ? undefined : collect(written.err),
    tty,
    resizes: (async function* () {})(),
    out: () => Buffer.concat(written.out).toString("utf8"),
    err: () => Buffer.concat(written.err).toString("utf8"),
  };
}
