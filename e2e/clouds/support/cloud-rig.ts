import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import { freePort } from "@virtual-kubelet/testing";
import { inject } from "vitest";
import { Cluster, podTimeout } from "../../clusters/support/cluster.ts";
import { onNode, VirtualNode } from "../../clusters/support/virtual-node.ts";
import { busyboxFileSystem, importImage } from "../../docker/support/busybox-image.ts";
import { EngineApi } from "../../docker/support/engine-api.ts";
import { door, type Cloud, type CloudObject, type ForeignObject } from "./cloud.ts";
import { instancesOf } from "./engine-instances.ts";
import { packageFolder, readmePod } from "./readme-pod.ts";

/** Command of the image that stands for the README's: it serves until it is stopped. */
const serve = ["sh", "-c", "trap 'echo stopped; exit 0' TERM; echo serving; httpd -f -p 80 -h /etc & wait $!"];

/** Fields of a test's pod that differ from the README's. */
export interface PodChanges {
  /** Script of `sh`. */
  readonly script: string;
  readonly env?: readonly object[];
  readonly annotations?: Readonly<Record<string, string>>;
  /** Further fields of the pod's spec. */
  readonly spec?: object;
}

/** The program as a node of the home cluster, with a cloud whose containers run on the level's engine. */
export class CloudRig implements AsyncDisposable {
  readonly home: Cluster;
  readonly engine: EngineApi;
  readonly cloud: Cloud;
  readonly node: VirtualNode;
  readonly foreign: ForeignObject;
  /** {@link foreign} before the program was started. */
  readonly foreignBefore: unknown;
  /** Pod of the provider's README. */
  readonly pod: Pod;
  /** Field of a pod's spec that places it on the node. */
  readonly place: Pick<ReturnType<typeof onNode>, "nodeSelector">;
  #earlierLogs = "";
  readonly #ends: AsyncDisposableStack;

  private constructor(
    parts: Pick<CloudRig, "home" | "engine" | "cloud" | "node" | "foreign" | "foreignBefore" | "pod">,
    ends: AsyncDisposableStack,
  ) {
    this.home = parts.home;
    this.engine = parts.engine;
    this.cloud = parts.cloud;
    this.node = parts.node;
    this.foreign = parts.foreign;
    this.foreignBefore = parts.foreignBefore;
    this.pod = parts.pod;
    this.place = { nodeSelector: onNode(parts.node.name).nodeSelector };
    this.#ends = ends;
  }

  /** Starts the cloud and the program. The image of the README's pod is on the engine, under the README's name. */
  static async open(provider: string, openCloud: (dockerHost: string) => Promise<Cloud>): Promise<CloudRig> {
    await using ends = new AsyncDisposableStack();
    const name = `cloud-${provider}`;
    const home = ends.use(Cluster.home(name));
    ends.use(await home.createNamespace());
    const engine = new EngineApi(inject("dockerHost"));
    const pod = readmePod(provider);
    const bytes = await busyboxFileSystem();
    for (const { image = "" } of pod.spec?.containers ?? [])
      await importImage(engine, withTag(image), { bytes, changes: [`CMD ${JSON.stringify(serve)}`] });
    const cloud = ends.use(await openCloud(engine.host));
    const foreign = await cloud.createForeign();
    const foreignBefore = foreign.describe();
    const node = ends.use(
      await VirtualNode.start(name, {
        home: home.access,
        provider,
        packages: { [`@virtual-kubelet/provider-${provider}`]: packageFolder(provider) },
        providerConfig: cloud.providerConfig,
        env: cloud.env,
        kubeletPort: await freePort(),
      }),
    );
    await home.apply({ apiVersion: "v1", kind: "Secret", metadata: { name: "door" }, stringData: door });
    return new CloudRig({ home, engine, cloud, node, foreign, foreignBefore, pod }, ends.move());
  }

  /** Log of the program, from its first start. */
  get log(): string {
    return this.#earlierLogs + this.node.log;
  }

  /** Creates a pod like the README's. @returns its UID */
  async start(podName: string, { script, env = [], annotations = {}, spec = {} }: PodChanges): Promise<string> {
    const { metadata, spec: given, ...pod } = this.pod;
    const [container] = given?.containers ?? [];
    await this.home.apply({
      ...pod,
      metadata: { ...metadata, name: podName, annotations: { ...metadata?.annotations, ...annotations } },
      spec: { ...given, ...this.place, containers: [{ ...container, command: ["sh", "-c", script], env }], ...spec },
    });
    return this.uidOf(podName);
  }

  podOf(podName: string): Promise<DeepReadonly<Pod>> {
    return this.home.json<DeepReadonly<Pod>>(`get pod ${podName}`);
  }

  async uidOf(podName: string): Promise<string> {
    return (await this.podOf(podName)).metadata?.uid ?? "";
  }

  async untilReady(podName: string): Promise<void> {
    await this.home.say(`wait pod/${podName} --for=condition=Ready ${podTimeout}`);
  }

  async objectsOf(podName: string): Promise<readonly CloudObject[]> {
    return this.cloud.objectsOf(await this.uidOf(podName));
  }

  liveObjectsOf(podUid: string): readonly CloudObject[] {
    return this.cloud.objectsOf(podUid).filter(({ isLive }) => isLive);
  }

  /** All that tells an instance of a pod from another one: at the API server, at the cloud and on the engine. */
  async seen(podName: string): Promise<object> {
    const { status } = await this.podOf(podName);
    const [container] = status?.containerStatuses ?? [];
    const objects = await this.objectsOf(podName);
    return {
      podIP: status?.podIP,
      containerID: container?.containerID,
      startedAt: container?.state?.running?.startedAt,
      restartCount: container?.restartCount,
      groups: objects.map(({ group }) => group),
      instances: await Promise.all(objects.map(({ group }) => instancesOf(this.engine, group))),
    };
  }

  /** Kills the program, which gets no chance to clean up. */
  async killProgram(): Promise<void> {
    await this.node.killProgram();
    this.#earlierLogs += this.node.log;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ends.disposeAsync();
  }
}

function withTag(image: string): string {
  return /:[^/]+$/.test(image) ? image : `${image}:latest`;
}
