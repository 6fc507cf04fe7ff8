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

/** The control plane that all files of this level share. */
export function sharedControlPlane(): ControlPlaneAccess {
  return openControlPlane(inject("controlPlane"));
}

/** A client with its own transport. */
export interface OpenClient extends AsyncDisposable {
  readonly client: KubeClient;
}

/** Opens a client from a kubeconfig file, as the program does. */
export async function openClient(kubeconfig: KubeconfigFile, userAgent = "e2e"): Promise<OpenClient> {
  const credentials = await loadCredentials({ kubeconfig: kubeconfig.path, env: {}, clock: systemClock });
  const transport = createHttpTransport({ credentials });
  return { client: createKubeClient(transport, { userAgent }), [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose]() };
}

/** Service accounts, which only tests use. */
const serviceAccounts: ReturnType<typeof resource<KubernetesObject>> = resource<KubernetesObject>({
  group: "",
  version: "v1",
  plural: "serviceaccounts",
  kind: "ServiceAccount",
  namespaced: true,
});

/** Creates a namespace and waits until pods can be created in it. */
export async function createNamespace(client: KubeClient, prefix: string): Promise<string> {
  const { signal } = new AbortController();
  const created = await client.create(resources.namespaces, { metadata: { generateName: `${prefix}-` } }, { signal });
  const namespace = created.metadata?.name ?? "";
  // Pods are refused until their service account exists.
  await eventually((attempt) => client.get(serviceAccounts, { namespace, name: "default" }, { signal: attempt }), {
    describe: `the service account of namespace ${namespace}`,
    timeoutMs: 60_000,
  });
  return namespace;
}

/**
 * Waits until a user has the rights of a new role binding, because the API server applies roles and bindings a moment after they are
 * written.
 *
 * @param words - arguments of `kubectl auth can-i`, such as `["list", "pods", "-n", "default"]`
 */
export async function untilAllowed(controlPlane: ControlPlaneAccess, user: string, words: readonly string[]): Promise<void> {
  await eventually(async () => expect((await controlPlane.kubectl(["auth", "can-i", ...words, `--as=${user}`])).stdout).toBe("yes\n"), {
    timeoutMs: 60_000,
    describe: `${user} to be allowed to ${words.join(" ")}`,
  });
}
