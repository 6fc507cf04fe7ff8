import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  Container,
  DeepReadonly,
  Pod,
  PodEvent,
  PodRef,
  PodUpdate,
  Provider,
  ProviderHost,
  ResolvedPod,
  Secret,
  VolumePayload,
} from "@virtual-kubelet/core";
import { NotFoundError } from "@virtual-kubelet/errdefs";
import { noMetrics, silentLogger, type LogFields } from "@virtual-kubelet/kube-client";
import { provider as definition } from "@virtual-kubelet/provider-nomad";
import { eventually } from "@virtual-kubelet/testing";
import { expect } from "vitest";
import { jobIdOf } from "../../providers/nomad/src/job/job-id.ts";
import { startFakeNomad, type FakeNomad } from "./fake/start-fake-nomad.ts";
import type { FakeRequest } from "./fake/fake-request.ts";

const owner = { clusterId: "c1", nodeName: "n1" };
const { signal } = new AbortController();

/** Script of a container that runs until it is told to stop. */
export const forever = "trap 'exit 0' TERM; while :; do sleep 0.1; done";

/** The provider on a fake Nomad, with the objects that its pods refer to. */
export class NomadRig implements AsyncDisposable {
  readonly nomad: FakeNomad;
  provider!: Provider;
  readonly updates: PodUpdate[] = [];
  readonly events: PodEvent[] = [];
  /** Secrets of the cluster, by name. */
  readonly secrets: Record<string, Secret> = {};
  /** Warnings in the log. */
  readonly warnings: (LogFields & { readonly text: string })[] = [];
  readonly #config: object;
  readonly #folder = mkdtempSync(join(tmpdir(), "vk-nomad-rig-"));
  readonly #pods = new Map<string, DeepReadonly<Pod>>();
  readonly #volumes = new Map<string, { payload: VolumePayload; wake: () => void; changed: Promise<void> }>();

  private constructor(nomad: FakeNomad, config: object) {
    this.nomad = nomad;
    this.#config = config;
  }

  static async open(config: object = {}): Promise<NomadRig> {
    const rig = new NomadRig(await startFakeNomad(), config);
    try {
      await rig.start();
    } catch (error) {
      await rig[Symbol.asyncDispose]();
      throw error;
    }
    // Until it follows changes, the provider queries Nomad for each pod.
    if (!("address" in config) && !("stream" in config))
      await eventually(() => expect(rig.nomad.requests.some(({ path }) => path === "/v1/event/stream")).toBe(true));
    return rig;
  }

  /** Creates a provider, as the program does when it starts. @param changes - configuration fields for this provider only */
  async start(changes: object = {}): Promise<void> {
    const config = definition.configSchema.safeParse({
      address: this.nomad.address,
      purgeAfter: "0",
      restart: { delay: "1s" },
      ...this.#config,
      ...changes,
    });
    if (!config.success) throw new Error(JSON.stringify(config.error.issues));
    const host: ProviderHost = {
      ...owner,
      nodeAddress: undefined,
      clusterDomain: "cluster.local",
      logger: { ...silentLogger, warn: (fields, text) => void this.warnings.push({ ...fields, text }) },
      metrics: noMetrics,
      clock: systemClock,
      random: systemRandom,
      findPod: ({ uid }) => this.#pods.get(uid),
      getSecret: async (_namespace, name) => {
        const secret = this.secrets[name];
        if (!secret) throw new NotFoundError(`there is no secret ${name}`);
        return secret;
      },
      getConfigMap: () => Promise.reject(new NotFoundError("the rig has no config maps")),
      getServiceAccountToken: () => Promise.reject(new NotFoundError("the rig has no service accounts")),
      resolvePod: (ref) => this.#resolve(ref),
      recordEvent: (_ref, event) => void this.events.push(event),
    };
    this.provider = await definition.create(host, config.data);
    this.provider.notifyPods?.((update) => void this.updates.push(structuredClone(update)));
  }

  async stop(): Promise<void> {
    await this.provider?.[Symbol.asyncDispose]?.();
  }

  /** Path of a file that containers of the test can use. */
  file(name: string): string {
    return join(this.#folder, name);
  }

  /** Creates {@link file}. */
  write(name: string): void {
    writeFileSync(this.file(name), "");
  }

  /** Script of a container that runs until {@link release} is called, and then exits with this code. */
  held(exitCode: number): string {
    return `until [ -e ${this.#gate} ]; do sleep 0.1; done; exit ${exitCode}`;
  }

  /** Lets the {@link held} containers exit. */
  release(): void {
    writeFileSync(this.#gate, "");
  }

  /** Path of a program that does not exist until {@link install} is called. */
  get tool(): string {
    return join(this.#folder, "tool");
  }

  /** Creates {@link tool}, a program that runs until it is told to stop. */
  install(): void {
    writeFileSync(this.tool, `#!/bin/sh\n${forever}\n`, { mode: 0o755 });
  }

  get #gate(): string {
    return join(this.#folder, "gate");
  }

  pod(spec: Partial<NonNullable<Pod["spec"]>> = {}): Pod {
    const uid = randomUUID();
    return {
      metadata: { namespace: "default", name: `pod-${uid.slice(0, 8)}`, uid },
      spec: { restartPolicy: "Never", terminationGracePeriodSeconds: 5, containers: [container()], ...spec },
    };
  }

  async create(pod: Pod = this.pod()): Promise<PodRef> {
    const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
    this.#pods.set(uid, pod);
    await this.provider.createPod(pod, this.#resolve({ namespace, name, uid }), signal);
    return { namespace, name, uid };
  }

  /** Creates a pod and waits until it runs. */
  async run(pod: Pod = this.pod()): Promise<PodRef> {
    const ref = await this.create(pod);
    await this.until(ref, ({ phase }) => expect(phase).toBe("Running"));
    return ref;
  }

  delete(ref: PodRef, gracePeriodSeconds = 5): Promise<void> {
    return this.provider.deletePod(ref, { gracePeriodSeconds }, signal);
  }

  /** Waits until the pod's status passes the check. */
  until(ref: PodRef, check: (status: Awaited<ReturnType<Provider["getPodStatus"]>>) => void): Promise<void> {
    return eventually(async () => check(await this.provider.getPodStatus(ref, signal)), { intervalMs: 25 });
  }

  untilGone(ref: PodRef): Promise<void> {
    return eventually(() => expect(this.updates.some((update) => "gone" in update && update.ref.uid === ref.uid)).toBe(true));
  }

  jobId(ref: PodRef): string {
    return jobIdOf(owner, ref.uid);
  }

  /** Requests about one pod, without the lists and streams that all pods share. */
  requestsFor(ref: PodRef): string[] {
    const id = this.jobId(ref);
    const allocations = new Set(this.nomad.cluster.allocationsOf(id).map(({ ID }) => String(ID)));
    const isOwn = ({ method, path }: FakeRequest): boolean =>
      path.includes(id) || (method === "PUT" && path === "/v1/jobs") || [...allocations].some((each) => path.includes(each));
    return this.nomad.requests.filter(isOwn).map(({ method, path }) => `${method} ${path.replace(id, "JOB")}`);
  }

  /** Replaces the files of a volume. */
  setVolume(name: string, files: Readonly<Record<string, string>>): void {
    const before = this.#volumes.get(name);
    const { promise: changed, resolve: wake } = Promise.withResolvers<void>();
    const payload = { files: Object.entries(files).map(([path, text]) => ({ path, mode: 0o644, content: Buffer.from(text) })) };
    this.#volumes.set(name, { payload, wake, changed });
    before?.wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.nomad[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true });
  }

  #resolve({ uid }: PodRef): ResolvedPod {
    const pod = this.#pods.get(uid);
    if (!pod) throw new NotFoundError(`pod ${uid} is not on this node`);
    const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
    const volumes = this.#volumes;
    return {
      environment: async (name) =>
        (containers.find((each) => each.name === name)?.env ?? []).map((variable) => ({
          name: variable.name,
          value: variable.value ?? "from a secret",
        })),
      commandLine: async () => ({ command: [], args: [] }),
      volume: async (name) => volumes.get(name)?.payload ?? { files: [] },
      async *watchVolume(name, until) {
        for (;;) {
          const { payload, changed } = volumes.get(name) ?? { payload: { files: [] }, changed: Promise.resolve() };
          yield payload;
          await Promise.race([changed, new Promise((resolve) => until.addEventListener("abort", resolve, { once: true }))]);
          if (until.aborted) return;
        }
      },
      configMap: async () => ({}),
      secret: async () => ({}),
      serviceVariables: async () => [],
    };
  }
}

export function container(script: string = forever, fields: Partial<Container> = {}): Container {
  return { name: "main", image: "busybox", command: ["sh", "-c", script], ...fields };
}
