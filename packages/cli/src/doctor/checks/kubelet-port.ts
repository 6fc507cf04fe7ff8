import type { X509Certificate } from "node:crypto";
import { messageOf } from "@virtual-kubelet/errdefs";
import { checkKubeletPort } from "../../dry-run/check-run.ts";
import { ConfigError } from "../../program-error.ts";
import type { NodeCheck } from "../check.ts";
import { fail, pass, skip, type Judgement } from "../finding.ts";
import { isNodeCertificate } from "../served-certificate.ts";
import { refusals } from "./configuration.ts";

/** Whether the node's program listens on the port of the kubelet's API, or will be able to. */
export const kubeletPortCheck: NodeCheck = {
  name: "kubelet.port",
  async run(node) {
    const { settings, loaded, name } = node;
    const port = settings.kubeletPort;
    if (port === 0) return [skip("the kubelet's API is off (--kubelet-port 0): no logs, exec or metrics")];
    let listener: Listener;
    try {
      const certificate = await node.served.own();
      listener = certificate === undefined ? { kind: "none" } : { kind: "tls", certificate };
    } catch (error) {
      listener = { kind: "other", why: messageOf(error) };
    }
    const process = await node.process.own().catch(() => undefined);
    const hasFile = loaded.settings.kubelet.tlsCertFile !== undefined;
    const judgement = judgePort({ nodeNames: loaded.settings.nodes.map((each) => each.name), port, listener, process, hasFile });
    if (listener.kind !== "none" || process !== undefined) return [judgement];
    try {
      const warning = await checkKubeletPort(loaded, port);
      return [
        warning === undefined
          ? judgement
          : fail(warning, `ss -ltnp 'sport = :${port}'`, `# choose another port for node ${name} with --kubelet-port`),
      ];
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return refusals(error, "# choose another port with --kubelet-port, or another address with --kubelet-address");
    }
  },
};

/** What listens on the port of this host. */
type Listener =
  | { readonly kind: "none" }
  | { readonly kind: "tls"; readonly certificate: X509Certificate }
  /** Something that does not answer with TLS. */
  | { readonly kind: "other"; readonly why: string };

interface PortSituation {
  /** All nodes of the program, which may share the port. */
  readonly nodeNames: readonly string[];
  readonly port: number;
  readonly listener: Listener;
  /** Process ID of the program on this host that runs the node. */
  readonly process: string | undefined;
  /** Whether the settings name a certificate, whose name can be any. */
  readonly hasFile: boolean;
}

/** Judges who listens on the node's port. */
export function judgePort({ nodeNames, port, listener, process, hasFile }: PortSituation): Judgement {
  const find = `ss -ltnp 'sport = :${port}'`;
  const choose = "# stop that program, or choose another port with --kubelet-port";
  switch (listener.kind) {
    case "none":
      if (process === undefined) return pass(`port ${port} of this machine is free`);
      return fail(
        `process ${process} on this host runs the node, but nothing listens on port ${port}`,
        find,
        "# see the program's log, and give doctor the same flags",
      );
    case "other":
      return fail(`what listens on port ${port} of this machine is not a kubelet: ${listener.why}`, find, choose);
    case "tls":
      if (process !== undefined) return pass(`process ${process} on this host listens on port ${port}`);
      if (hasFile || nodeNames.some((name) => isNodeCertificate(listener.certificate, name)))
        return pass(`the node's program listens on port ${port}`);
      return fail(
        `another program listens on port ${port} of this machine: ${listener.certificate.subject.replaceAll("\n", ", ")}`,
        find,
        choose,
      );
    default:
      return listener satisfies never;
  }
}
