import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { openControlPlane } from "@virtual-kubelet/testing";
import type { UpgradeTarget } from "@virtual-kubelet/streaming";
import { inject } from "vitest";
import type { Caller } from "../../support/kubelet-request.ts";
import { keepsDeclaredFeatures } from "../../support/kubernetes-version.ts";

/** An API server through which clients reach a node, with the administrator's credentials. */
export interface Cluster extends AsyncDisposable {
  /** Private folder of the test file. */
  readonly directory: string;
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** Whether the API server stores the features that a node declares, and uses WebSockets with a node that supports them. */
  readonly heedsDeclaredFeatures: boolean;
  /** Credentials of the administrator for requests to a node. */
  readonly admin: Caller;
  /** Returns the target of an upgrade request for this path. */
  target(path: string): UpgradeTarget & { readonly url: string };
}

/** Opens the API server on which the current Vitest project runs the tests. */
export async function openCluster(): Promise<Cluster> {
  const ends = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), "vk-interop-"));
  ends.defer(() => rm(directory, { recursive: true, force: true }));
  const kubeconfig = join(directory, "kubeconfig");
  let text: string;
  let path = kubeconfig;
  let heedsDeclaredFeatures = true;
  if (inject("parityServer") === "embedded") {
    const server = await startApiServer();
    ends.defer(() => server.close());
    await server.writeKubeconfig(kubeconfig);
    text = server.kubeconfig();
  } else {
    const controlPlane = openControlPlane(inject("controlPlane"));
    ({ path, text } = controlPlane.kubeconfig);
    heedsDeclaredFeatures = keepsDeclaredFeatures(controlPlane.version);
  }
  return { directory, kubeconfig: path, heedsDeclaredFeatures, ...accessOf(text), [Symbol.asyncDispose]: () => ends.disposeAsync() };
}

function accessOf(kubeconfig: string): Pick<Cluster, "admin" | "target"> {
  const config = JSON.parse(kubeconfig) as {
    clusters: [{ cluster: { server: string; "certificate-authority-data": string } }];
    users: [{ user: { token?: string; "client-certificate-data"?: string; "client-key-data"?: string } }];
  };
  const [{ cluster }] = config.clusters;
  const [{ user }] = config.users;
  const pem = (data: string | undefined): string | undefined => (data === undefined ? undefined : Buffer.from(data, "base64").toString());
  const { token } = user;
  const [certificate, key] = [pem(user["client-certificate-data"]), pem(user["client-key-data"])];
  return {
    admin: { token, certificate, key },
    target: (path) => ({
      url: `${cluster.server}${path}`,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      tls: { ca: pem(cluster["certificate-authority-data"]), cert: certificate, key },
    }),
  };
}
