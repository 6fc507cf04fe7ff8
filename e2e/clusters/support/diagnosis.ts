import type { DeepReadonly, KubernetesObject, Node, Pod } from "@virtual-kubelet/kube-client";
import { readFileSync } from "node:fs";
import { inject, onTestFailed } from "vitest";
import type { Cluster } from "./cluster.ts";

/** Where to look for the reason why pods did not come. */
export interface Suspects {
  /** Each with the namespace in which the pods are. */
  readonly home: Cluster;
  readonly far: Cluster;
  /** Reads the log of the program that runs the virtual node. */
  readonly log: () => string;
}

/** What is known of pods that did not come. */
export interface Diagnosis {
  /** One line: how far each pod came that is not Ready. */
  readonly summary: string;
  /** Nodes, workloads, pods and events of both clusters, and the logs of the virtual node and of the far node. */
  readonly details: string;
}

/** Lines of each log that are shown. */
const logLines = 300;

const questions = [
  "get nodes,deployments,replicasets,pods,persistentvolumeclaims,configmaps -o wide",
  "describe nodes",
  "describe deployments,replicasets,pods",
  "get events --sort-by=.metadata.creationTimestamp",
] as const;

type Event = DeepReadonly<
  KubernetesObject & {
    readonly type?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly involvedObject?: { readonly name?: string };
  }
>;

/** Asks both clusters why pods did not come. What a cluster does not answer is left out. */
export async function diagnose({ home, far, log }: Suspects): Promise<Diagnosis> {
  const parts: string[] = [];
  for (const [name, cluster] of Object.entries({ home, far })) {
    for (const words of questions) {
      const { stdout, stderr } = await cluster.run(words);
      parts.push(`== ${name}: kubectl ${words}`, stdout, stderr);
    }
  }
  parts.push("== log of the virtual node", lastLines(log()));
  parts.push("== log of the far node", lastLines(readFileSync(inject("farNodeLog"), "utf8")));
  return { summary: await summarize(home, far), details: parts.join("\n") };
}

/** If the current test fails, prints why pods did not come. */
export function diagnoseFailure(suspects: Suspects): void {
  onTestFailed(async () => {
    const { summary, details } = await diagnose(suspects);
    console.error(`${details}\n== ${summary}`);
  });
}

async function summarize(home: Cluster, far: Cluster): Promise<string> {
  const homePods = await itemsOf<Pod>(home, "get pods");
  const farPods = await itemsOf<Pod>(far, "get pods");
  const homeNodes = await itemsOf<Node>(home, "get nodes");
  const farNodes = await itemsOf<Node>(far, "get nodes");
  const events = [...(await itemsOf<Event>(home, "get events")), ...(await itemsOf<Event>(far, "get events"))];
  const words = homePods
    .filter((pod) => !isReady(pod))
    .map((pod) => {
      const { uid, name } = pod.metadata ?? {};
      const farPod = farPods.find(({ metadata }) => uid !== undefined && metadata?.labels?.["virtual-kubelet.io/pod-uid"] === uid);
      const warning = events.findLast(
        ({ type, involvedObject }) => type === "Warning" && [name, farPod?.metadata?.name].includes(involvedObject?.name),
      );
      const told = warning === undefined ? "" : ` (${warning.reason}: ${warning.message})`;
      return `${name}: ${stateOf(pod, homeNodes)}; far: ${farPod ? stateOf(farPod, farNodes) : "none"}${told}`;
    });
  return words.length === 0 ? `all ${homePods.length} pods are Ready` : words.join("; ");
}

/** Objects of a list; none if the cluster does not answer. */
async function itemsOf<T>(cluster: Cluster, words: string): Promise<readonly T[]> {
  const { code, stdout } = await cluster.run(`${words} -o json`);
  return code === 0 ? (JSON.parse(stdout) as { readonly items: readonly T[] }).items : [];
}

function isReady({ status }: DeepReadonly<Pod | Node>): boolean {
  return status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") === true;
}

/** Such as `Pending ContainerCreating on far-1`. */
function stateOf(pod: DeepReadonly<Pod>, nodes: readonly DeepReadonly<Node>[]): string {
  const { metadata, spec, status } = pod;
  const waiting = status?.containerStatuses?.flatMap(({ state }) => state?.waiting?.reason ?? []) ?? [];
  const isLeaving = metadata?.deletionTimestamp !== undefined;
  const words = [status?.phase, isLeaving ? "Terminating" : undefined, status?.reason, ...waiting, placeOf(spec?.nodeName, nodes)];
  return words.filter(Boolean).join(" ");
}

function placeOf(nodeName: string | undefined, nodes: readonly DeepReadonly<Node>[]): string {
  if (nodeName === undefined) return "on no node";
  const node = nodes.find(({ metadata }) => metadata?.name === nodeName);
  if (!node) return `on ${nodeName}, which does not exist`;
  return isReady(node) ? `on ${nodeName}` : `on ${nodeName}, which is not Ready`;
}

function lastLines(text: string): string {
  return text.trimEnd().split("\n").slice(-logLines).join("\n");
}
