import { withDeadline } from "@virtual-kubelet/async";
import { isNotFound, isUnauthorized } from "@virtual-kubelet/errdefs";
import {
  resources,
  statusOf,
  type Identity as ClientIdentity,
  type KubernetesObject,
  type Lease,
  type Node,
  type Pod,
  type Resource,
} from "@virtual-kubelet/kube-client";
import type { X509Certificate } from "node:crypto";
import type { CommandLine } from "../command-line/flag-parser.ts";
import { loadSettings, type LoadedSettings } from "../config/load-settings.ts";
import type { NodeSettings } from "../config/settings.ts";
import { connect, type Connection } from "../connect.ts";
import type { Context } from "../context.ts";
import { certDirectoryOf } from "../kubelet-server/cert-directory.ts";
import { isEveryAddress } from "../kubelet-server/node-address.ts";
import { lockHolder } from "../nodes/node-lock.ts";
import { planNode, type PlannedNode } from "../nodes/plan-nodes.ts";
import { Fact } from "./fact.ts";
import { identityProblem, type Identity } from "./identity.ts";
import { answerProblem, skewOf, type ServerAnswer } from "./server-answer.ts";
import { readServedCertificate } from "./served-certificate.ts";
import { readText } from "./read-text.ts";

/** Timeout of one request, and of reading the settings, in milliseconds. */
const readTimeoutMs = 10_000;

/** Namespace of the nodes' Leases. */
const leaseNamespace = "kube-node-lease";

/** Maximum number of pods of a node that are looked at. */
const maxPods = 50;

/** Everything that the checks look at; each part is read when a check asks for it. */
export interface Facts {
  readonly line: CommandLine;
  readonly context: Context;
  readonly loaded: Fact<LoadedSettings>;
  readonly connection: Fact<Connection>;
  /** Client certificate or token, which may be those of a credential command. */
  readonly clientIdentity: Fact<ClientIdentity>;
  /** What answers at the API server's address. */
  readonly server: Fact<ServerAnswer>;
  /** The same, if it is an API server that works. */
  readonly api: Fact<ServerAnswer>;
  readonly identity: Fact<Identity>;
  /** Whether the API server accepts the program's user for its nodes, so that further requests make sense. */
  readonly accepted: Fact<void>;
  /** Id of the cluster: that of the settings, or the UID of the namespace `kube-system`. */
  readonly clusterId: Fact<string>;
  /** The time by the API server's clock if it is known, and by this machine's, in milliseconds since the epoch. */
  readonly times: () => Promise<readonly [number, ...number[]]>;
}

/** Everything that the checks look at for one node. */
export interface NodeFacts {
  readonly facts: Facts;
  readonly loaded: LoadedSettings;
  readonly index: number;
  readonly settings: NodeSettings;
  readonly name: string;
  /** Identity of the program's instance. */
  readonly identity: string;
  /** The node with its provider. */
  readonly planned: Fact<PlannedNode>;
  /** Process ID of the program on this host that runs the node; `undefined` if there is none. */
  readonly process: Fact<string | undefined>;
  /** `undefined` if it does not exist. */
  readonly object: Fact<Node | undefined>;
  /** `undefined` if it does not exist. */
  readonly lease: Fact<Lease | undefined>;
  /** Some of the pods that are bound to the node. */
  readonly pods: Fact<readonly Pod[]>;
  /** Certificate of the server that listens at the node's port of this host; `undefined` if none does. */
  readonly served: Fact<X509Certificate | undefined>;
}

/** @param signal - ends all reading */
export function createFacts(line: CommandLine, context: Context, opened: AsyncDisposableStack, signal: AbortSignal): Facts {
  const read = <T>(what: string, call: (signal: AbortSignal) => Promise<T>): Promise<T> =>
    withDeadline({ clock: context.clock, timeoutMs: readTimeoutMs, what }, signal, call);
  const loaded = new Fact("configuration.settings", () => read("read the configuration", () => loadSettings(line, context)));
  const connection = new Fact("cluster.kubeconfig", async () => {
    const settings = await loaded.needed();
    return opened.use(await read("read the kubeconfig", () => connect(settings, context)));
  });
  const clientIdentity = new Fact("cluster.credentials", async () => {
    const { credentials } = await connection.needed();
    return await read("read the credentials", (inner) => credentials.current(inner));
  });
  const server = new Fact("cluster.reachable", async () => {
    const { transport } = await connection.needed();
    // Without them nothing is sent, which says nothing about the API server.
    await clientIdentity.needed();
    return await read("get /version", (inner) => askVersion(transport, context, inner));
  });
  const api = new Fact("cluster.reachable", async () => {
    const answer = await server.own();
    if (answerProblem(answer) !== undefined) throw new Error("it is not an API server that works");
    return answer;
  });
  const identity = new Fact("cluster.identity", async () => {
    const { client } = await connection.needed();
    await api.needed();
    return identityIn(
      await read("ask who the program is", (inner) => client.raw("POST", selfSubjectReviews, selfSubjectReview, { signal: inner })),
    );
  });
  const accepted = new Fact("cluster.identity", async () => {
    const { nodes } = (await loaded.needed()).settings;
    await api.needed();
    // An old API server does not tell who asks, and answers other questions.
    const user = await identity.own().catch((error: unknown) => {
      if (isUnauthorized(error)) throw error;
    });
    const problem =
      user &&
      identityProblem(
        user,
        nodes.map(({ name }) => name),
      );
    if (problem) throw new Error(problem.message);
  });
  const times = async (): Promise<readonly [number, ...number[]]> => {
    const skewMs = await api.own().then(skewOf, () => undefined);
    const nowMs = context.clock.now();
    return skewMs === undefined ? [nowMs] : [nowMs - skewMs, nowMs];
  };
  const clusterId = new Fact("cluster.identity", async () => {
    const { id } = (await loaded.needed()).settings.cluster;
    if (id !== undefined) return id;
    const { client } = await connection.needed();
    await accepted.needed();
    const { metadata } = await read("get the namespace kube-system", (inner) =>
      client.get(resources.namespaces, { name: "kube-system" }, { signal: inner }),
    );
    return metadata?.uid ?? "";
  });
  return { line, context, loaded, connection, clientIdentity, server, api, identity, accepted, clusterId, times };
}

async function askVersion(transport: Connection["transport"], { clock }: Context, signal: AbortSignal): Promise<ServerAnswer> {
  const sentMs = clock.now();
  const headers = { accept: "application/json" };
  const { status, headers: answered, body } = await transport.request({ method: "GET", path: "/version", headers, pool: "short", signal });
  const receivedMs = clock.now();
  return { status, date: answered["date"], sentMs, receivedMs, text: await readText(body) };
}

/** Not stored. Source: kubernetes.io, SelfSubjectReview, in every API server from 1.28 on. */
const selfSubjectReviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const selfSubjectReview = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };

function identityIn(review: unknown): Identity {
  const { status } = Object(review) as {
    readonly status?: { readonly userInfo?: { readonly username?: unknown; readonly groups?: unknown } };
  };
  const { username, groups } = status?.userInfo ?? {};
  if (typeof username !== "string") throw new TypeError("the answer to a SelfSubjectReview names no user");
  return { username, groups: Array.isArray(groups) ? groups.filter((group) => typeof group === "string") : [] };
}

/** @param index - index of the node in the settings */
export function createNodeFacts(facts: Facts, loaded: LoadedSettings, index: number, signal: AbortSignal): NodeFacts {
  const { context, connection, accepted } = facts;
  const settings = loaded.settings.nodes[index];
  if (!settings) throw new RangeError(`the settings have no node ${index}`);
  const { name, kubeletPort } = settings;
  const read = <T>(what: string, call: (signal: AbortSignal) => Promise<T>): Promise<T> =>
    withDeadline({ clock: context.clock, timeoutMs: readTimeoutMs, what }, signal, call);
  const get = async <T extends KubernetesObject>(resource: Resource<T>, namespace?: string): Promise<T | undefined> => {
    const { client } = await connection.needed();
    await accepted.needed();
    try {
      return await read(`get ${resource.plural} ${name}`, (inner) => client.get(resource, { namespace, name }, { signal: inner }));
    } catch (error) {
      if (isNotFound(error) && statusOf(error)?.reason === "NotFound") return undefined;
      throw error;
    }
  };
  return {
    facts,
    loaded,
    index,
    settings,
    name,
    identity: loaded.settings.instance.identity ?? context.hostName,
    planned: new Fact("provider.configuration", () => read(`load provider ${settings.provider}`, () => planNode(loaded, index, context))),
    process: new Fact("node.process", () => {
      const { directory } = certDirectoryOf(name, loaded, context);
      return read("look for a running program", () => lockHolder({ directory, nodeName: name, clock: context.clock }));
    }),
    object: new Fact("node.object", () => get(resources.nodes)),
    lease: new Fact("node.lease", () => get(resources.leases, leaseNamespace)),
    pods: new Fact("permissions.pods", async () => {
      const { client } = await connection.needed();
      await accepted.needed();
      const query = { fieldSelector: `spec.nodeName=${name}`, limit: maxPods };
      return (await read("list pods of the node", (inner) => client.list(resources.pods, query, { signal: inner }))).items;
    }),
    served: new Fact("kubelet.port", async () => {
      const { address } = loaded.settings.kubelet;
      const host = isEveryAddress(address) ? "127.0.0.1" : address;
      return await read("connect to the kubelet's API", (inner) => readServedCertificate(host, kubeletPort, inner));
    }),
  };
}
