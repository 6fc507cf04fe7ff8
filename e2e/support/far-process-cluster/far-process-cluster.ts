import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { systemClock } from "@virtual-kubelet/clock";
import type { PodRef } from "@virtual-kubelet/core";
import {
  createHttpTransport,
  createKubeClient,
  loadCredentials,
  resources,
  type KubeClient,
  type KubernetesObject,
  type Resource,
  type Transport,
} from "@virtual-kubelet/kube-client";
import { farConfig, type FarMessage, type FarOrder } from "./messages.ts";

const signal = new AbortController().signal;
const { name: farNamespace } = farConfig.namespaces;
const main = join(import.meta.dirname, "main.ts");

/** Kinds of objects that virtual nodes make in a far cluster. */
const madeKinds: readonly Resource<KubernetesObject>[] = [
  resources.pods,
  resources.configMaps,
  resources.secrets,
  resources.persistentVolumeClaims,
  resources.services,
];

/**
 * A far cluster in a process of its own: an API server over HTTPS, and a node with a kubelet's server that runs pods as processes of this
 * machine.
 */
export class FarProcessCluster implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #transport: Transport;
  /** The far cluster's administrator. */
  readonly client: KubeClient;
  /** Path of the kubeconfig of the home cluster's user. */
  readonly kubeconfig: string;
  readonly version: string;

  private constructor(child: ChildProcess, { kubeconfigs, version }: NonNullable<FarMessage["ready"]>, transport: Transport) {
    this.#child = child;
    this.#transport = transport;
    this.client = createKubeClient(transport);
    this.kubeconfig = kubeconfigs.home;
    this.version = version;
  }

  static async open(): Promise<FarProcessCluster> {
    const child = fork(main, { execArgv: ["--conditions=@virtual-kubelet/source", "--disable-warning=ExperimentalWarning"] });
    const { ready } = await nextMessage(child);
    if (!ready) throw new Error("the far cluster's process did not say that it is ready");
    const credentials = await loadCredentials({ kubeconfig: ready.kubeconfigs.admin, env: {}, clock: systemClock });
    return new FarProcessCluster(child, ready, createHttpTransport({ credentials }));
  }

  /** Objects that the virtual nodes of a home cluster have made, without those that own them. */
  async leftovers(): Promise<readonly string[]> {
    const labelSelector = "virtual-kubelet.io/cluster";
    const lists = madeKinds.map(async (kind) => {
      const { items } = await this.client.list(kind, { namespace: farNamespace, labelSelector }, { signal });
      return items.flatMap(({ metadata }) => (metadata?.ownerReferences ? [`${kind.kind} ${metadata.name}`] : []));
    });
    return (await Promise.all(lists)).flat();
  }

  /** Deletes the far pod of a home pod, as somebody else in the far cluster does. */
  async losePod({ uid }: PodRef): Promise<void> {
    const query = { namespace: farNamespace, labelSelector: `virtual-kubelet.io/pod-uid=${uid}` };
    const { items } = await this.client.list(resources.pods, query, { signal });
    for (const { metadata } of items) {
      const name = { namespace: farNamespace, name: metadata?.name ?? "" };
      await this.client.delete(resources.pods, name, { gracePeriodSeconds: 0 }, { signal });
    }
  }

  /** Lets requests of the home cluster fail, and ends its watches; returns when it has noticed. */
  async fail(match: NonNullable<FarOrder["fail"]>): Promise<AsyncDisposable> {
    const failing = nextMessage(this.#child);
    this.#order({ fail: match });
    await failing;
    return { [Symbol.asyncDispose]: async () => this.#order({}) };
  }

  #order(order: FarOrder): void {
    this.#child.send(order);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#transport[Symbol.asyncDispose]();
    this.#child.disconnect();
    if (this.#child.exitCode === null) await once(this.#child, "exit");
  }
}

async function nextMessage(child: ChildProcess): Promise<FarMessage> {
  const over = new AbortController();
  const ended = once(child, "exit", over).then(([code]) => Promise.reject(new Error(`the far cluster's process ended with ${code}`)));
  try {
    const [message] = (await Promise.race([once(child, "message", over), ended])) as [FarMessage];
    return message;
  } finally {
    ended.catch(() => {});
    over.abort();
  }
}
