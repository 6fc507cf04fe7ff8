import { withDeadline } from "@virtual-kubelet/async";
import { isForbidden, isNotFound } from "@virtual-kubelet/errdefs";
import { resources, type ConfigMap } from "@virtual-kubelet/kube-client";
import { X509Certificate } from "node:crypto";
import type { ProgramCheck } from "../check.ts";
import { fail, pass, skip, type Judgement } from "../finding.ts";

/** Timeout of the request, in milliseconds. */
const timeoutMs = 10_000;

const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** ConfigMap with the authority of the API server's client certificate. */
const published = { namespace: "kube-system", name: "extension-apiserver-authentication" };

/** Whether nodes can authenticate the API server by the authority that the cluster publishes. */
export const clientCaCheck: ProgramCheck = {
  name: "cluster.client-ca",
  async run({ loaded, connection, accepted, times, context: { clock } }, signal) {
    const { kubelet, nodes } = (await loaded.needed()).settings;
    if (nodes.every(({ kubeletPort }) => kubeletPort === 0)) return [skip("the kubelet's API is off (--kubelet-port 0)")];
    if (kubelet.clientCAFile !== undefined) return [skip("the authority is in --client-ca-file")];
    const { client } = await connection.needed();
    await accepted.needed();
    const [nowMs] = await times();
    try {
      const deadline = { clock, timeoutMs, what: "read the published client CA" };
      return [
        judgeClientCa(
          await withDeadline(deadline, signal, (inner) => client.get(resources.configMaps, published, { signal: inner })),
          nowMs,
        ),
      ];
    } catch (error) {
      if (isForbidden(error))
        return [
          fail(
            "the program may not read the authority of the API server's client certificate: logs and exec fail with Unauthorized",
            "# see permissions.configmaps",
          ),
        ];
      if (isNotFound(error)) return [judgeClientCa(undefined, nowMs)];
      throw error;
    }
  },
};

/** @param configMap - `undefined` if it does not exist */
export function judgeClientCa(configMap: ConfigMap | undefined, nowMs: number): Judgement {
  const text = configMap?.data?.["client-ca-file"];
  if (text === undefined || text === "")
    return fail(
      "the cluster publishes no authority of client certificates: logs and exec fail with Unauthorized",
      "# start kube-apiserver with --client-ca-file, or name the file with this program's --client-ca-file",
    );
  try {
    // A bundle while the authority is exchanged: one that is valid is enough.
    const blocks = text.match(certificateBlock) ?? [text];
    const lastMs = Math.max(...blocks.map((block) => new X509Certificate(block).validToDate.getTime()));
    if (lastMs <= nowMs)
      return fail(
        `the published authority of client certificates has expired on ${new Date(lastMs).toISOString()}`,
        "# renew the cluster's authority",
      );
    return pass("the cluster publishes the authority of the API server's client certificate");
  } catch {
    return fail(
      "the published authority of client certificates cannot be read",
      `kubectl get configmap ${published.name} -n ${published.namespace} -o yaml`,
    );
  }
}
