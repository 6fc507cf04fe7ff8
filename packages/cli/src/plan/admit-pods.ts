import type { Clock, Random } from "@virtual-kubelet/clock";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { messageOf } from "@virtual-kubelet/errdefs";
import { createKubeClient, resources, type Pod } from "@virtual-kubelet/kube-client";
import { exitCodes } from "../exit-codes.ts";
import { ProgramError } from "../program-error.ts";

/**
 * The pods as an API server would pass them to the node: validated, with defaults, and bound. Their UIDs and token volumes have the same
 * names each time, so that plans can be compared.
 *
 * @throws ProgramError with the API server's message for a rejected pod
 */
export async function admitPods(
  pods: readonly Pod[],
  { nodeName, clock }: { readonly nodeName: string; readonly clock: Clock },
  signal: AbortSignal,
): Promise<readonly Pod[]> {
  const objects = [...namespacesOf(pods), ...serviceAccountsOf(pods)];
  const random = new SteadyRandom();
  await using server = await startApiServer({ listen: false, controllers: false, clock, random, objects });
  random.begin();
  const client = createKubeClient(server.transport());
  const admitted: Pod[] = [];
  for (const { metadata, spec } of pods) {
    const { namespace = "default", name = metadata?.generateName ?? "" } = metadata ?? {};
    // The API server assigns the rest of the metadata.
    const { labels, annotations, generateName } = metadata ?? {};
    const known = Object.fromEntries(Object.entries({ labels, annotations, generateName }).filter(([, value]) => value !== undefined));
    const own = metadata?.name === undefined ? {} : { name: metadata.name };
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { ...known, ...own, namespace }, spec: { ...spec, nodeName } } as Pod;
    try {
      admitted.push(await client.create(resources.pods, pod, { signal }));
    } catch (error) {
      signal.throwIfAborted();
      throw new ProgramError(`pod ${namespace}/${name}: ${messageOf(error)}`, exitCodes.failure.code, { cause: error });
    }
  }
  return admitted;
}

function namespacesOf(pods: readonly Pod[]): object[] {
  const names = new Set(pods.map(({ metadata }) => metadata?.namespace ?? "default"));
  const builtIn = ["default", "kube-system", "kube-public", "kube-node-lease"];
  return [...names].filter((name) => !builtIn.includes(name)).map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }));
}

/** Service accounts that the pods name; `default` exists in every namespace. */
function serviceAccountsOf(pods: readonly Pod[]): object[] {
  const accounts = new Map<string, object>();
  for (const { metadata, spec } of pods) {
    const { namespace = "default" } = metadata ?? {};
    const { serviceAccountName: name = "default" } = spec ?? {};
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
