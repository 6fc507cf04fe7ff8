import { Agent } from "node:https";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { startControlPlane } from "@virtual-kubelet/testing";
import { compareServers, type Comparison } from "./compare.ts";
import { requestGroups } from "./index.ts";

/** Sends all requests to a real kube-apiserver and to the embedded API server. Neither has controllers, so that nobody else writes. */
export async function compareAll(): Promise<readonly Comparison[]> {
  const range = "10.96.0.0/12";
  await using real = await startControlPlane({ components: [], flags: { "kube-apiserver": { "service-cluster-ip-range": range } } });
  await using embedded = await startApiServer({ controllers: false, serviceClusterIpRange: range });
  const { credentials } = real.target;
  if (credentials === undefined || !("certificate" in credentials)) throw new TypeError("the administrator must have a client certificate");
  const { certificate: cert, key } = credentials;
  const agents = [
    new Agent({ keepAlive: true, ca: real.caCertificate, cert, key }),
    new Agent({ ca: real.caCertificate }),
    new Agent({ keepAlive: true, ca: embedded.caPem }),
    new Agent({ ca: embedded.caPem }),
  ] as const;
  try {
    return await compareServers(
      [
        { url: real.server, agent: agents[0], anonymousAgent: agents[1] },
        { url: embedded.url, agent: agents[2], anonymousAgent: agents[3], token: embedded.token },
      ],
      requestGroups,
    );
  } finally {
    for (const agent of agents) agent.destroy();
  }
}
