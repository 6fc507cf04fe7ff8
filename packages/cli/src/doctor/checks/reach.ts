import { withDeadline } from "@virtual-kubelet/async";
import { isDeadlineExceeded, messageOf } from "@virtual-kubelet/errdefs";
import { createHttpTransport, createKubeClient, loadCredentials } from "@virtual-kubelet/kube-client";
import { valueOf } from "../../command-line/flag-parser.ts";
import { resolve } from "node:path";
import { askAccess, type AccessQuestion } from "../access-review.ts";
import type { NodeCheck } from "../check.ts";
import type { NodeFacts } from "../facts.ts";
import { skip, warn, type Judgement } from "../finding.ts";
import { judgeReach, type ReachAnswer } from "../reach-answer.ts";
import { readText } from "../read-text.ts";
import { ownCommand } from "../shell-words.ts";
import type { Connection } from "../../connect.ts";
import { isRun } from "./node.ts";

/** Timeout of a request through the API server to the node, in milliseconds; its own timeout for a connection is 30 s. */
const timeoutMs = 15_000;

/** Whether the API server reaches the kubelet's port, and is accepted there. */
export const reachCheck: NodeCheck = {
  name: "kubelet.reach",
  async run(node, signal) {
    const { facts, settings } = node;
    if (settings.kubeletPort === 0) return [skip("the kubelet's API is off (--kubelet-port 0): no logs, exec or metrics")];
    await facts.accepted.needed();
    if ((await node.object.needed()) === undefined) return [skip("needs node.object: there is no Node yet")];
    const process = await node.process.own().catch(() => undefined);
    const lease = await node.lease.own().catch(() => undefined);
    if (!isRun(lease, process, await facts.times())) return [skip("needs node.lease: no program runs the node now")];
    await using asker = await openAsker(node);
    return [await reach(node, asker, signal)];
  },
};

/** Who asks the API server to reach the node. */
interface Asker extends AsyncDisposable {
  readonly connection: Pick<Connection, "client" | "transport">;
  /** Whether it is an administrator, not the program's own identity. */
  readonly isAdmin: boolean;
}

async function openAsker({ facts }: NodeFacts): Promise<Asker> {
  const { cwd, env, clock } = facts.context;
  const file = valueOf(facts.line, "admin-kubeconfig");
  if (file === undefined)
    return { connection: await facts.connection.needed(), isAdmin: false, [Symbol.asyncDispose]: () => Promise.resolve() };
  const transport = createHttpTransport({ credentials: await loadCredentials({ kubeconfig: resolve(cwd, file), env, clock }) });
  return {
    connection: { client: createKubeClient(transport), transport },
    isAdmin: true,
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  };
}

async function reach(node: NodeFacts, { connection, isAdmin }: Asker, signal: AbortSignal): Promise<Judgement> {
  const { facts, name } = node;
  const asks = { client: connection.client, clock: facts.context.clock };
  const setAddress = ownCommand(facts.line, "run", ["--node-ip IP-OF-THIS-MACHINE"]);
  const proxy = proxyWay(name);
  let isProxyAllowed = false;
  for (const { question, path } of [proxy, ...(await logWays(node))]) {
    if ((await askAccess(question, asks, signal)).outcome !== "allowed") continue;
    const judgement = judgeReach(await ask(connection, path, facts, signal), { name, port: node.settings.kubeletPort, setAddress });
    if (judgement !== undefined) return judgement;
    isProxyAllowed = true;
  }
  if (isProxyAllowed)
    return warn(
      "kube-apiserver's node proxy refuses the node's address (address not allowed), because other machines cannot use it, and no pod of the node has a log to try instead",
      setAddress,
    );
  return skip(
    `${isAdmin ? "--admin-kubeconfig may" : "the program need not and may not"} use the node proxy or read logs of pods; ask as an administrator`,
    `kubectl get --raw ${proxy.path}`,
    `${ownCommand(facts.line, "doctor", [])} --admin-kubeconfig ADMIN.KUBECONFIG`,
  );
}

/** A request that the API server passes on to the node, and the right that it needs. */
interface Way {
  readonly question: AccessQuestion;
  readonly path: string;
}

function proxyWay(name: string): Way {
  return {
    question: { verb: "get", group: "", resource: "nodes", subresource: "proxy", name },
    path: `/api/v1/nodes/${encodeURIComponent(name)}/proxy/healthz`,
  };
}

/** The log of a running container, of which at most one byte is read; the API server does not refuse any address for it. */
async function logWays(node: NodeFacts): Promise<Way[]> {
  const pods = await node.pods.own().catch(() => []);
  return pods
    .flatMap(({ metadata, status }): Way[] => {
      const container = status?.containerStatuses?.find(({ started }) => started === true)?.name;
      const { namespace = "", name = "" } = metadata ?? {};
      if (container === undefined) return [];
      const query = new URLSearchParams({ container, tailLines: "1", limitBytes: "1" }).toString();
      return [
        {
          question: { verb: "get", group: "", resource: "pods", subresource: "log", namespace, name },
          path: `/api/v1/namespaces/${namespace}/pods/${name}/log?${query}`,
        },
      ];
    })
    .slice(0, 1);
}

async function ask(
  { transport }: Pick<Connection, "transport">,
  path: string,
  { context: { clock } }: NodeFacts["facts"],
  signal: AbortSignal,
): Promise<ReachAnswer> {
  try {
    return await withDeadline({ clock, timeoutMs, what: "ask through the API server" }, signal, async (inner): Promise<ReachAnswer> => {
      const { status, body } = await transport.request({ method: "GET", path, headers: { accept: "*/*" }, pool: "short", signal: inner });
      return { kind: "answer", status, text: await readText(body) };
    });
  } catch (error) {
    signal.throwIfAborted();
    return isDeadlineExceeded(error) ? { kind: "timeout" } : { kind: "failed", why: messageOf(error) };
  }
}
