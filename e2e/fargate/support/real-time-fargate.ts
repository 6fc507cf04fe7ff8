import { systemClock, systemRandom, type Clock } from "@virtual-kubelet/clock";
import type { ContainerLogs, Pod, PodEvent, PodUpdate, Provider, ProviderHost, ProviderPodStatus } from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { provider } from "@virtual-kubelet/provider-fargate";
import { env } from "node:process";
import type { ContainerHost } from "../../support/container-host/container-host.ts";
import { resolverOf } from "../../zun/support.ts";
import type { FakeKeys } from "../fake/api/credentials.ts";
import { FakeAws, firstKeys } from "../fake/fake-aws.ts";
import { usualTimings } from "../fake/tasks/task-timings.ts";

const variables = {
  accessKeyId: "AWS_ACCESS_KEY_ID",
  secretAccessKey: "AWS_SECRET_ACCESS_KEY",
  sessionToken: "AWS_SESSION_TOKEN",
} as const;

/** Puts keys where the SDK's chain finds them first; `undefined` takes them away. */
export function setEnvironmentKeys(keys: FakeKeys | undefined): void {
  for (const [key, variable] of Object.entries(variables)) {
    const value = keys?.[key as keyof FakeKeys];
    if (value === undefined) delete env[variable];
    else env[variable] = value;
  }
}

/** The provider as the program creates it, with the SDK's own chain of credentials, on the fake in real time with short steps. */
export class RealTimeFargate implements AsyncDisposable {
  readonly aws: FakeAws;
  /** Pods of the API server, by UID. */
  readonly pods: Map<string, Pod> = new Map();
  readonly updates: PodUpdate[] = [];
  readonly events: PodEvent[] = [];
  readonly #settings: object;
  readonly #disposables = new AsyncDisposableStack();

  private constructor(aws: FakeAws, settings: object) {
    this.aws = aws;
    this.#settings = settings;
    this.#disposables.use(aws);
    this.#disposables.defer(() => setEnvironmentKeys(undefined));
  }

  /**
   * Starts the account. Its first keys are in the environment.
   *
   * @param settings - of the provider, besides what it needs
   * @param clock - of the account. Default: the system's
   */
  static async start(host: ContainerHost, settings: object = {}, clock: Clock = systemClock): Promise<RealTimeFargate> {
    const timings = Object.fromEntries(Object.keys(usualTimings).map((name) => [name, 20])) as unknown as typeof usualTimings;
    const aws = await FakeAws.start({ clock, random: systemRandom, host, timings, ingestionMs: 0 });
    aws.tasks.settings.visibleAfterMs = 0;
    setEnvironmentKeys(firstKeys);
    return new RealTimeFargate(aws, settings);
  }

  /** Creates a provider, as a start of the program does, and follows its pods. */
  async open(changes: Partial<ProviderHost> = {}): Promise<Provider> {
    const parsed = provider.configSchema.safeParse({
      region: "us-east-1",
      subnets: ["subnet-1"],
      taskRoleArn: "arn:aws:iam::123456789012:role/task",
      ecsEndpoint: this.aws.endpoint,
      logsEndpoint: this.aws.endpoint,
      ...this.#settings,
    });
    if (!parsed.success) throw new Error(JSON.stringify(parsed.error.issues));
    const node = await provider.create({ ...this.#host(), ...changes }, parsed.data);
    this.#disposables.defer(async () => node[Symbol.asyncDispose]?.());
    node.notifyPods?.((update) => void this.updates.push(update));
    return node;
  }

  /** Creates a pod. @param files - content of each of its volumes */
  async create(
    node: Provider,
    spec: NonNullable<Pod["spec"]>,
    { name = "web", files = {} }: { readonly name?: string; readonly files?: Readonly<Record<string, string>> } = {},
  ): Promise<Pod> {
    const pod: Pod = { metadata: { namespace: "shop", name, uid: systemRandom.uuid() }, spec };
    this.pods.set(pod.metadata?.uid ?? "", pod);
    await node.createPod(pod, resolverOf(pod, files), new AbortController().signal);
    return pod;
  }

  /** Status that was last reported of a pod; `undefined` if there is none, or the pod is gone. */
  statusOf(pod: Pod): ProviderPodStatus | undefined {
    const update = this.updates.findLast(({ ref }) => ref.uid === pod.metadata?.uid);
    return update && "status" in update ? update.status : undefined;
  }

  isGone(pod: Pod): boolean {
    return this.updates.some((update) => update.ref.uid === pod.metadata?.uid && "gone" in update);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#disposables[Symbol.asyncDispose]();
  }

  #host(): ProviderHost {
    const nothing = (): never => {
      throw new NotFoundError("the test host has no such objects");
    };
    const logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => logger };
    return {
      nodeName: "fargate-1",
      clusterId: "c1",
      nodeAddress: undefined,
      clusterDomain: "cluster.local",
      logger,
      metrics: { count() {}, gauge() {}, observe() {} },
      clock: systemClock,
      random: systemRandom,
      getSecret: nothing,
      getConfigMap: nothing,
      getServiceAccountToken: nothing,
      resolvePod: ({ uid }) => resolverOf(this.pods.get(uid) ?? {}),
      findPod: ({ uid }) => this.pods.get(uid),
      recordEvent: (_ref, event) => void this.events.push(event),
    };
  }
}

/** Settings with which containers' output is kept. */
export const withLogs = { executionRoleArn: "arn:aws:iam::123456789012:role/execution", logGroup: "/ecs/pods", createLogGroup: true };

/** All text of a container's output. */
export async function textOf({ data }: ContainerLogs): Promise<string> {
  let all = "";
  for await (const chunk of data) all += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString();
  return all;
}
