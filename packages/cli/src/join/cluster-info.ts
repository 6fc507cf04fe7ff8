import type { ConfigMap, DeepReadonly } from "@virtual-kubelet/kube-client";
import { z } from "zod";
import { parseText } from "../config/parse-text.ts";
import type { BootstrapToken } from "./bootstrap-token.ts";
import { pinsOf } from "./ca-pins.ts";
import { isSignedWith } from "./cluster-info-signature.ts";

/** An API server and the authority of its certificate. */
export interface ClusterAddress {
  /** URL. */
  readonly server: string;
  /** PEM. */
  readonly ca: string;
}

/** Result of a check of the config map. */
export type CheckedClusterInfo =
  | { readonly kind: "good"; readonly cluster: ClusterAddress; readonly kubeconfig: string }
  /** The signature for the token may still come: the cluster's controller adds it some seconds after the token was created. */
  | { readonly kind: "unsigned"; readonly problem: string }
  | { readonly kind: "bad"; readonly problem: string };

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const kubeconfigSchema = z.object({
  clusters: z
    .array(
      z.object({
        cluster: z.object({
          server: z.url({ protocol: /^https$/, error: "expected an https URL" }),
          "certificate-authority-data": z.string().regex(base64, { error: "expected base64" }),
        }),
      }),
    )
    .length(1, { error: "expected one cluster" }),
});

/**
 * Checks the config map `cluster-info` of the namespace kube-public, which was read from a server that is not trusted yet: the token must have
 * signed its kubeconfig, and the authority in it must have one of the public keys. Without pins, the signature alone decides.
 *
 * Source of the rules: kubernetes v1.36.3 cmd/kubeadm/app/discovery/token.
 *
 * @param pins - hashes in the form of {@link pinsOf}; empty: every authority that the token has signed
 */
export async function checkClusterInfo(
  { data = {} }: DeepReadonly<Pick<ConfigMap, "data">>,
  token: BootstrapToken,
  pins: readonly string[],
): Promise<CheckedClusterInfo> {
  const { kubeconfig } = data;
  if (!kubeconfig) return bad("it has no kubeconfig, so the cluster is not set up for bootstrap tokens");
  const signature = data[`jws-kubeconfig-${token.id}`];
  if (!signature) {
    return {
      kind: "unsigned",
      problem: `it has no signature by the token ${token.id}: the token does not exist or has expired, or it may not sign (usage-bootstrap-signing); create one with kubeadm token create`,
    };
  }
  if (!isSignedWith(token, signature, kubeconfig))
    return bad(`its signature was not made with the token ${token.id}.…: the secret is wrong, or this is not the cluster of the token`);
  let cluster: ClusterAddress;
  let found: readonly string[];
  try {
    cluster = await clusterOf(kubeconfig);
    found = pinsOf(cluster.ca);
  } catch (error) {
    return bad(`its kubeconfig cannot be used: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (found.length === 0) return bad("its kubeconfig holds no certificate of an authority");
  if (pins.length > 0 && !found.some((pin) => pins.includes(pin)))
    return bad(
      `its authority has the hash ${found.join(", ")}, expected ${pins.join(" or ")}: check the hash, and that this is your API server`,
    );
  return { kind: "good", cluster, kubeconfig };
}

async function clusterOf(kubeconfig: string): Promise<ClusterAddress> {
  const parsed = kubeconfigSchema.safeParse(await parseText("cluster-info.yaml", kubeconfig));
  if (!parsed.success) throw new Error(parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; "));
  const [entry] = parsed.data.clusters;
  if (!entry) throw new Error("expected one cluster");
  const { server, "certificate-authority-data": ca } = entry.cluster;
  return { server: server.replace(/\/+$/, ""), ca: Buffer.from(ca, "base64").toString() };
}

function bad(problem: string): CheckedClusterInfo {
  return { kind: "bad", problem };
}
