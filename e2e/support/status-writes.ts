import { resources, type KubeClient, type Pod, type PodStatus } from "@virtual-kubelet/kube-client";
import fc from "fast-check";
import { expect } from "vitest";
import { podStatusPatch } from "../../packages/core/src/pod/status/pod-status-patch.ts";
import { derivePodStatus } from "../../packages/core/src/pod/status/pod-status.ts";
import type { ProviderPodStatus } from "../../packages/core/src/provider/pod-lifecycle.ts";
import { newPod, report } from "../../packages/core/src/test-support/pod-arbitraries.ts";

const { signal } = new AbortController();
const startMs = Date.parse("2026-05-01T12:00:00.750Z");

/** Derives and writes the statuses of pods on a node that does not exist, as the core does. */
export class StatusWrites {
  readonly startMs: number = startMs;
  readonly hostIPs: readonly string[] = ["192.0.2.1"];
  readonly #client: KubeClient;
  readonly #namespace: string;
  #count = 0;

  /** @param namespace - existing namespace with the service account `default` */
  constructor(client: KubeClient, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  /** Creates a pod, which has one container unless the spec says otherwise. */
  createPod(spec: Partial<NonNullable<Pod["spec"]>> = {}): Promise<Pod> {
    const pod: Pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: `pod-${this.#count++}`, namespace: this.#namespace },
      spec: { nodeName: "nobody", containers: [{ name: "app", image: "app:1" }], ...spec },
    };
    return this.#client.create(resources.pods, pod, { signal });
  }

  derive(pod: Pod, reported: ProviderPodStatus, nowMs: number = startMs): PodStatus {
    return derivePodStatus({ pod, reported, hostIPs: this.hostIPs, nowMs });
  }

  /** Writes the status if it differs. @returns the server's object */
  async write(pod: Pod, wanted: PodStatus): Promise<Pod> {
    const body = podStatusPatch(pod, wanted);
    return body ? this.#patch(pod, "status", body) : pod;
  }

  /** Writes status fields of others. @returns the server's object */
  writeOther(pod: Pod, status: object): Promise<Pod> {
    return this.#patch(pod, "status", { status });
  }

  read(pod: Pod): Promise<Pod> {
    return this.#client.get(resources.pods, this.#nameOf(pod), { signal });
  }

  /**
   * Writes the statuses of arbitrary reports of arbitrary pods. Each must be accepted and need no second patch.
   *
   * @param known - returns the report without what the server does not know
   */
  async writeArbitrary(known: (reported: ProviderPodStatus) => ProviderPodStatus = (reported) => reported): Promise<void> {
    const histories = fc.sample(fc.tuple(newPod, fc.array(report.map(known), { minLength: 2, maxLength: 4 })), { numRuns: 80, seed: 1 });
    for (const [{ spec }, reports] of histories) {
      const { ephemeralContainers, ...created } = spec ?? { containers: [] };
      let pod = await this.createPod({ ...created, nodeName: "nobody" });
      // Ephemeral containers are added later through a subresource.
      if (ephemeralContainers) pod = await this.#patch(pod, "ephemeralcontainers", { spec: { ephemeralContainers } });
      for (const [index, reported] of reports.entries()) {
        const nowMs = startMs + index * 61_234;
        pod = await this.write(pod, this.derive(pod, reported, nowMs));

        expect(podStatusPatch(pod, this.derive(pod, reported, nowMs + 30_000))).toBeUndefined();
      }
    }
  }

  #patch(pod: Pod, subresource: "status" | "ephemeralcontainers", body: object): Promise<Pod> {
    return this.#client.patch(resources.pods, this.#nameOf(pod), { type: "strategic", body }, { subresource, signal });
  }

  #nameOf({ metadata }: Pod): { namespace: string; name: string } {
    return { namespace: this.#namespace, name: metadata?.name ?? "" };
  }
}
