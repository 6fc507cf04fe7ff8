import type { Clock, Container, Pod, PodRef, PodUpdate, ProviderPodStatus, ResolvedPod } from "@virtual-kubelet/core";
import { mockConfigSchema } from "../config.ts";
import { MockProvider } from "../mock-provider.ts";

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
}

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
    },
  };
}

/** What names that pod. */
export function refOf({ metadata }: Pod): PodRef {
  return { namespace: metadata?.namespace ?? "", name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
}

/** A mock provider on a clock that obeys, with every report it makes. */
export class MockRig<TestClock extends Clock> {
  readonly clock: TestClock;
  readonly updates: PodUpdate[] = [];
  readonly environments: string[] = [];
  readonly provider: MockProvider;
  readonly signal: AbortSignal = new AbortController().signal;

  constructor(clock: TestClock, config: unknown = {}) {
    this.clock = clock;
    const parsed = mockConfigSchema.safeParse(config);
    if (!parsed.success) throw new Error(parsed.error.issues.map(({ message }) => message).join());
    this.provider = new MockProvider({ nodeName: "vk", clusterId: "c", nodeAddress: "192.0.2.1", clock }, parsed.data);
    this.provider.notifyPods((update) => this.updates.push(update));
  }

  /** Creates the pod, whose environment resolves to nothing. */
  async create(pod: Pod): Promise<PodRef> {
    const resolved: ResolvedPod = {
      environment: async (container) => {
        this.environments.push(container);
        return [];
      },
      commandLine: async () => ({ command: [], args: [] }),
      volume: async () => ({ files: [] }),
      async *watchVolume() {},
    };
    await this.provider.createPod(pod, resolved, this.signal);
    return refOf(pod);
  }

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
