import { systemClock } from "@virtual-kubelet/clock";
import {
  createHttpTransport,
  createKubeClient,
  loadCredentials,
  resource,
  resources,
  type KubeClient,
  type KubernetesObject,
} from "@virtual-kubelet/kube-client";
import { eventually, openControlPlane, type ControlPlaneAccess, type KubeconfigFile } from "@virtual-kubelet/testing";
import { expect, inject } from "vitest";

/** The control plane that the files of this level share. */
export function sharedControlPlane(): ControlPlaneAccess {
  return openControlPlane(inject("controlPlane"));
}

/** A client with a transport of its own. */
export interface OpenClient extends AsyncDisposable {
  readonly client: KubeClient;
}

/** Opens a client as the program does: from a kubeconfig file. */
export async function openClient(kubeconfig: KubeconfigFile, userAgent = "e2e"): Promise<OpenClient> {
  const credentials = await loadCredentials({ kubeconfig: kubeconfig.path, env: {}, clock: systemClock });
  const transport = createHttpTransport({ credentials });
  return { client: createKubeClient(transport, { userAgent }), [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose]() };
}

/** Service accounts, which only tests ask for. */
const serviceAccounts: ReturnType<typeof resource<KubernetesObject>> = resource<KubernetesObject>({
  group: "",
  version: "v1",
  plural: "serviceaccounts",
  kind: "ServiceAccount",
  namespaced: true,
});

/** A new namespace that pods can be created in. */
export async function createNamespace(client: KubeClient, prefix: string): Promise<string> {
  const { signal } = new AbortController();
  const created = await client.create(resources.namespaces, { metadata: { generateName: `${prefix}-` } }, { signal });
  const namespace = created.metadata?.name ?? "";
  // A pod is refused until its service account is there.
  await eventually((attempt) => client.get(serviceAccounts, { namespace, name: "default" }, { signal: attempt }), {
    describe: `the service account of namespace ${namespace}`,
    timeoutMs: 60_000,
  });
  return namespace;
}

/**
 * Waits until a user may do what a role was bound to him for: the API server learns of roles and bindings a moment after
 * they are written.
 *
 * @param words - as for `kubectl auth can-i`, such as `["list", "pods", "-n", "default"]`
 */
export async function untilAllowed(controlPlane: ControlPlaneAccess, user: string, words: readonly string[]): Promise<void> {
  await eventually(async () => expect((await controlPlane.kubectl(["auth", "can-i", ...words, `--as=${user}`])).stdout).toBe("yes\n"), {
    timeoutMs: 60_000,
    describe: `${user} to be allowed to ${words.join(" ")}`,
  });
}
