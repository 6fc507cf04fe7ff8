import type { Clock, Random } from "@virtual-kubelet/clock";
import { firstMade, startApiServer, type ApiObject } from "@virtual-kubelet/embedded-apiserver";
import { messageOf } from "@virtual-kubelet/errdefs";
import { createKubeClient, resources, type KubeClient, type KubernetesObject, type Pod } from "@virtual-kubelet/kube-client";
import { exitCodes } from "../exit-codes.ts";
import { ProgramError } from "../program-error.ts";
import { isWorkload, podSpecOf, workloadPath, type Workload } from "./workloads.ts";

/** Time at which CronJobs are due, which is part of the names of their pods. */
const dueMs = Date.UTC(2026, 0, 1);

/** A pod as the node sees it. */
export interface AdmittedPod {
  readonly pod: Pod;
  /** The workload of which it is the first pod, such as `Deployment shop/web`. */
  readonly workload: string | undefined;
}

/**
 * The pods, and the first pod of each workload, as an API server would pass them to the node: validated, with defaults, and bound. Their UIDs
 * and token volumes have the same names each time, so that plans can be compared.
 *
 * @throws ProgramError with the API server's message for a rejected object
 */
export async function admitPods(
  planned: readonly (Pod | Workload)[],
  { nodeName, clock }: { readonly nodeName: string; readonly clock: Clock },
  signal: AbortSignal,
): Promise<readonly AdmittedPod[]> {
  const objects = [...namespacesOf(planned), ...serviceAccountsOf(planned)];
  const random = new SteadyRandom();
  await using server = await startApiServer({ listen: false, controllers: false, serviceAccounts: true, clock, random, objects });
  random.begin();
  const client = createKubeClient(server.transport());
  const admitted: AdmittedPod[] = [];
  for (const object of planned) {
    const { namespace = "default", name = object.metadata?.generateName ?? "" } = object.metadata ?? {};
    const workload = isWorkload(object) ? `${object.kind} ${namespace}/${name}` : undefined;
    try {
      const pod = isWorkload(object) ? await firstPodOf(object, client, { namespace, nodeName, nowMs: dueMs }, signal) : object;
      admitted.push({ pod: await createPod(pod, client, nodeName, signal), workload });
    } catch (error) {
      signal.throwIfAborted();
      throw new ProgramError(`${workload ?? `pod ${namespace}/${name}`}: ${messageOf(error)}`, exitCodes.failure.code, { cause: error });
    }
  }
  return admitted;
}

/** Creates a workload, and what its controllers would make, up to the first pod. @returns the pod to create */
async function firstPodOf(
  workload: Workload,
  client: KubeClient,
  { namespace, ...at }: { readonly namespace: string; readonly nodeName: string; readonly nowMs: number },
  signal: AbortSignal,
): Promise<Pod> {
  const { metadata, ...rest } = workload;
  let stored = await client.raw(
    "POST",
    workloadPath(workload.kind, namespace),
    { ...rest, metadata: { ...metadata, namespace } },
    { signal },
  );
  for (;;) {
    const made = firstMade(stored as ApiObject, at);
    if (made === undefined) throw new RangeError(`${workload.apiVersion} ${workload.kind} makes no pods`);
    if (made.kind === "Pod") return made.object;
    stored = await client.raw("POST", workloadPath(made.kind, namespace), made.object, { signal });
  }
}

async function createPod({ metadata, spec }: Pod, client: KubeClient, nodeName: string, signal: AbortSignal): Promise<Pod> {
  const { namespace = "default" } = metadata ?? {};
  // The API server assigns the rest of the metadata.
  const { name, generateName, labels, annotations } = metadata ?? {};
  const known = Object.fromEntries(Object.entries({ name, generateName, labels, annotations }).filter(([, value]) => value !== undefined));
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { ...known, namespace }, spec: { ...spec, nodeName } } as Pod;
  return await client.create(resources.pods, pod, { signal });
}

function namespacesOf(objects: readonly KubernetesObject[]): object[] {
  const names = new Set(objects.map(({ metadata }) => metadata?.namespace ?? "default"));
  const builtIn = ["default", "kube-system", "kube-public", "kube-node-lease"];
  return [...names].filter((name) => !builtIn.includes(name)).map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }));
}

/** Service accounts that the pods name; `default` exists in every namespace. */
function serviceAccountsOf(objects: readonly (Pod | Workload)[]): object[] {
  const accounts = new Map<string, object>();
  for (const object of objects) {
    const { namespace = "default" } = object.metadata ?? {};
    const { serviceAccountName: name = "default" } = (isWorkload(object) ? podSpecOf(object) : object.spec) ?? {};
    if (name !== "default")
      accounts.set(`${namespace}/${name}`, { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name } });
  }
  return [...accounts.values()];
}

/** Repeatable numbers and UUIDs. The sequence restarts where the pods begin, so that it does not depend on earlier objects. */
class SteadyRandom implements Random {
  #group = "9000";
  #uuids = 0;
  #state = 1;

  begin(): void {
    this.#group = "8000";
    this.#uuids = 0;
    this.#state = 1;
  }

  next(): number {
    this.#state = (this.#state * 48_271) % 2_147_483_647;
    return this.#state / 2_147_483_647;
  }

  uuid(): string {
    return `00000000-0000-4000-${this.#group}-${String(++this.#uuids).padStart(12, "0")}`;
  }
}
