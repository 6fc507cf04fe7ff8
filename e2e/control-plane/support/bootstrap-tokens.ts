import { eventually, type ControlPlaneAccess } from "@virtual-kubelet/testing";
import { createHash, randomBytes, X509Certificate } from "node:crypto";
import { expect } from "vitest";

/** Group of a kubeadm cluster's tokens for nodes. */
const joiners = "system:bootstrappers:kubeadm:default-node-token";

/**
 * Applies what `kubeadm init phase bootstrap-token` does: the config map kube-public/cluster-info that everybody can read, and the rights of
 * joining nodes. Source: kubernetes v1.36.3 cmd/kubeadm/app/phases/bootstraptoken.
 *
 * @param options.approve - whether the cluster approves requests of new nodes, and renewals, automatically
 */
export async function setUpBootstrapTokens(controlPlane: ControlPlaneAccess, { approve }: { readonly approve: boolean }): Promise<void> {
  const cluster = { server: controlPlane.server, "certificate-authority-data": Buffer.from(controlPlane.caCertificate).toString("base64") };
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "", cluster }],
    users: [],
    contexts: [],
    "current-context": "",
  };
  const items: object[] = [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace: "kube-public", name: "cluster-info" },
      data: { kubeconfig: JSON.stringify(kubeconfig) },
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { namespace: "kube-public", name: "kubeadm:bootstrap-signer-clusterinfo" },
      rules: [{ apiGroups: [""], resources: ["configmaps"], resourceNames: ["cluster-info"], verbs: ["get"] }],
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { namespace: "kube-public", name: "kubeadm:bootstrap-signer-clusterinfo" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "kubeadm:bootstrap-signer-clusterinfo" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "system:anonymous" }],
    },
    clusterRoleBinding("kubeadm:kubelet-bootstrap", "system:node-bootstrapper", joiners),
    clusterRoleBinding(
      "kubeadm:node-autoapprove-certificate-rotation",
      "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
      "system:nodes",
    ),
  ];
  if (approve)
    items.push(
      clusterRoleBinding("kubeadm:node-autoapprove-bootstrap", "system:certificates.k8s.io:certificatesigningrequests:nodeclient", joiners),
    );
  await apply(controlPlane, items);
}

/** What somebody needs to join the cluster. */
export interface JoinToken {
  readonly id: string;
  readonly token: string;
}

/**
 * Creates a bootstrap token, as `kubeadm token create` does, and waits until the cluster-info is signed with it, unless it has expired.
 *
 * @param options.expiresMs - time of expiry, in milliseconds since the epoch. Default: in an hour
 * @param options.groups - default: that of kubeadm's tokens
 */
export async function createJoinToken(
  controlPlane: ControlPlaneAccess,
  { expiresMs = Date.now() + 3_600_000, groups = joiners }: { readonly expiresMs?: number; readonly groups?: string } = {},
): Promise<JoinToken> {
  const id = randomBytes(3).toString("hex");
  const secret = randomBytes(8).toString("hex");
  const stringData = {
    "token-id": id,
    "token-secret": secret,
    "usage-bootstrap-authentication": "true",
    "usage-bootstrap-signing": "true",
    "auth-extra-groups": groups,
    expiration: new Date(expiresMs).toISOString(),
  };
  const metadata = { namespace: "kube-system", name: `bootstrap-token-${id}` };
  await apply(controlPlane, [{ apiVersion: "v1", kind: "Secret", type: "bootstrap.kubernetes.io/token", metadata, stringData }]);
  if (expiresMs > Date.now())
    await eventually(
      async () => {
        const { stdout } = await controlPlane.kubectl(["get", "configmap", "cluster-info", "-n", "kube-public", "-o", "json"]);
        expect(JSON.parse(stdout)).toHaveProperty(["data", `jws-kubeconfig-${id}`]);
      },
      { timeoutMs: 60_000, describe: `the cluster-info to be signed with the token ${id}` },
    );
  return { id, token: `${id}.${secret}` };
}

/** Hash of the authority's public key, as `kubeadm token create --print-join-command` prints it. */
export function authorityHash({ caCertificate }: ControlPlaneAccess): string {
  const key = new X509Certificate(caCertificate).publicKey.export({ type: "spki", format: "der" });
  return `sha256:${createHash("sha256").update(key).digest("hex")}`;
}

function clusterRoleBinding(name: string, role: string, group: string): object {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: group }],
  };
}

async function apply(controlPlane: ControlPlaneAccess, items: readonly object[]): Promise<void> {
  const stdin = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  expect(await controlPlane.kubectl(["apply", "-f", "-"], { stdin })).toMatchObject({ code: 0 });
}
