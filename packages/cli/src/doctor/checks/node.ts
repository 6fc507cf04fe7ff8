import { instanceAnnotation } from "@virtual-kubelet/core";
import { isForbidden, messageOf } from "@virtual-kubelet/errdefs";
import type { Lease, Node, Taint } from "@virtual-kubelet/kube-client";
import { isIP } from "node:net";
import type { NodeCheck } from "../check.ts";
import type { NodeFacts } from "../facts.ts";
import { fail, pass, skip, warn, type Judgement } from "../finding.ts";
import { ownCommand } from "../shell-words.ts";

/** How to start the program, and where its log is. */
function startProgram({ facts, name }: Pick<NodeFacts, "facts" | "name">): string[] {
  return [
    ownCommand(facts.line, "run", []),
    `# or look why the running one does not: journalctl -u virtual-kubelet, kubectl logs; it runs node ${name}`,
  ];
}

/**
 * Whether a program runs the node: one on this host, or one that renews the node's lease.
 *
 * @param times - the time by each clock that may be right
 */
export function isRun(lease: Lease | undefined, process: string | undefined, times: readonly number[]): boolean {
  return process !== undefined || (lease !== undefined && isRenewed(lease, times));
}

/** Whether the lease has not expired by one of the clocks: the time of renewal is from the clock of its holder, which may be wrong. */
function isRenewed({ spec }: Lease, times: readonly number[]): boolean {
  const { renewTime, leaseDurationSeconds = 0 } = spec ?? {};
  return renewTime !== undefined && times.some((nowMs) => Math.abs(nowMs - Date.parse(renewTime)) < leaseDurationSeconds * 1000);
}

/** Whether the Node exists when it should. */
export const nodeObjectCheck: NodeCheck = {
  name: "node.object",
  async run(node) {
    const { object, facts, name } = node;
    try {
      const found = await object.own();
      const lease = await node.lease.own().catch(() => undefined);
      const process = await node.process.own().catch(() => undefined);
      return [judgeObject({ name, object: found, isRun: isRun(lease, process, await facts.times()), start: startProgram(node) })];
    } catch (error) {
      if (!isForbidden(error)) throw error;
      return [fail(`the API server does not let the program read node ${name}: ${messageOf(error)}`, "# see the permissions above")];
    }
  },
};

interface ObjectSituation {
  readonly name: string;
  readonly object: Node | undefined;
  /** Whether a program runs the node. */
  readonly isRun: boolean;
  /** Commands that start the program. */
  readonly start: readonly string[];
}

/** @param situation - the Node object, and who should keep it */
export function judgeObject({ name, object, isRun: isBeingRun, start }: ObjectSituation): Judgement {
  if (object?.metadata?.deletionTimestamp !== undefined)
    return fail(
      `node ${name} is being deleted, and its finalizers keep it: ${object.metadata.finalizers?.join(", ") ?? "none"}`,
      `kubectl get node ${name} -o jsonpath='{.metadata.finalizers}'`,
      "# let their controllers finish, or remove the finalizers",
    );
  if (object !== undefined) return pass(`exists since ${timeText(object.metadata?.creationTimestamp)}`);
  if (isBeingRun)
    return fail(
      `node ${name} does not exist, although a program runs it: somebody deleted it, or it may not be created`,
      "# the program creates it again within seconds if permissions.nodes passes; else see its log",
      ...start,
    );
  return pass("does not exist; the program creates it when it starts");
}

/** Whether the node is Ready, and its other conditions. */
export const nodeReadyCheck: NodeCheck = {
  name: "node.ready",
  async run(node) {
    const object = await node.object.needed();
    if (object === undefined) return [skip("needs node.object: there is no Node yet")];
    return judgeConditions(object, startProgram(node));
  },
};

const badWhenTrue: ReadonlySet<string> = new Set(["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"]);

/** @param start - commands that start the program */
export function judgeConditions({ status }: Node, start: readonly string[]): Judgement[] {
  const conditions = status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === "Ready");
  if (ready === undefined) return [pass("no program has run the node yet")];
  const others = conditions
    .filter(({ type, status: value }) => (badWhenTrue.has(type) && value === "True") || (type === "ProviderAvailable" && value === "False"))
    .map(({ type, reason, message, lastTransitionTime }) =>
      warn(
        `${type} since ${timeText(lastTransitionTime)}: ${reason}: ${message}`,
        type === "ProviderAvailable" ? "# see provider.ping" : "# free that resource on the node's machine",
      ),
    );
  if (ready.status === "True") return [pass(`Ready since ${timeText(ready.lastTransitionTime)}`), ...others];
  const since = `NotReady since ${timeText(ready.lastTransitionTime)}: ${ready.reason}: ${ready.message}`;
  if (ready.status === "Unknown") return [fail(`${since}: no program reports the node's status`, ...start), ...others];
  return [fail(since, ready.reason?.startsWith("Provider") ? "# see provider.ping" : "# see the program's log"), ...others];
}

function timeText(time: Date | string | undefined): string {
  return time === undefined ? "an unknown time" : typeof time === "string" ? time : time.toISOString();
}

/** Whether pods can be scheduled to the node. */
export const nodeTaintsCheck: NodeCheck = {
  name: "node.taints",
  async run(node) {
    const object = await node.object.needed();
    if (object === undefined) return [skip("needs node.object: there is no Node yet")];
    const own = (await node.planned.needed()).options.taints ?? [];
    return judgeTaints(node.name, object, own);
  },
};

/** Taints that the cluster sets and removes itself, as the conditions say. Source: kubernetes.io, taints and tolerations. */
const clusterTaint =
  /^node\.kubernetes\.io\/(not-ready|unreachable|memory-pressure|disk-pressure|pid-pressure|network-unavailable|unschedulable)$/;

/** Taint of a node whose back end does not answer. */
const providerTaint = "virtual-kubelet.io/provider-unavailable";

/** @param own - taints of the settings */
export function judgeTaints(name: string, { spec }: Node, own: readonly Omit<Taint, "timeAdded">[]): Judgement[] {
  const taints = spec?.taints ?? [];
  const isSame = (a: Omit<Taint, "timeAdded">, b: Omit<Taint, "timeAdded">): boolean =>
    a.key === b.key && (a.value ?? "") === (b.value ?? "") && a.effect === b.effect;
  const foreign = taints.filter(
    (taint) => !clusterTaint.test(taint.key) && taint.key !== providerTaint && !own.some((each) => isSame(each, taint)),
  );
  const missing = own.filter((each) => !taints.some((taint) => isSame(each, taint)));
  const judgements = [
    ...(spec?.unschedulable === true ? [warn("the node is cordoned: no pod is scheduled to it", `kubectl uncordon ${name}`)] : []),
    ...foreign.map((taint) =>
      warn(
        `pods must also tolerate the taint ${taintText(taint)}, which the program does not set`,
        `kubectl taint node ${name} ${taint.key}:${taint.effect}-`,
      ),
    ),
    ...missing.map((taint) =>
      warn(
        `the taint ${taintText(taint)} is missing: ordinary pods may be scheduled to the node`,
        `kubectl taint node ${name} ${taintText(taint)}`,
      ),
    ),
  ];
  if (judgements.length > 0) return judgements;
  return [
    pass(
      own.length === 0
        ? "no taint, as configured: any pod may be scheduled to the node"
        : `pods must tolerate ${own.map(taintText).join(", ")}`,
    ),
  ];
}

function taintText({ key, value, effect }: Omit<Taint, "timeAdded">): string {
  return `${key}${value === undefined || value === "" ? "" : `=${value}`}:${effect}`;
}

/** Whether the API server can find the node. */
export const nodeAddressesCheck: NodeCheck = {
  name: "node.addresses",
  async run(node) {
    const { settings, facts } = node;
    if (settings.kubeletPort === 0) return [skip("the kubelet's API is off (--kubelet-port 0): no logs, exec or metrics")];
    const object = await node.object.needed();
    if (object?.status?.addresses === undefined && object?.status?.conditions === undefined)
      return [skip("needs node.ready: the program has not reported addresses yet")];
    return judgeAddresses(object, settings.kubeletPort, ownCommand(facts.line, "run", ["--node-ip IP-OF-THIS-MACHINE"]));
  },
};

/** @param setAddress - command that sets the node's address */
export function judgeAddresses({ status }: Node, port: number, setAddress: string): Judgement[] {
  const addresses = status?.addresses ?? [];
  const portOfNode = status?.daemonEndpoints?.kubeletEndpoint?.Port;
  const shown = addresses.map(({ type, address }) => `${type} ${address}`).join(", ");
  const judgements: Judgement[] = [];
  if (addresses.length === 0)
    judgements.push(
      fail("the node has no address, so kubectl logs and exec fail with: no preferred addresses found; known addresses: []", setAddress),
    );
  const loopback = addresses.find(({ address }) => isLoopback(address));
  if (loopback)
    judgements.push(
      warn(
        `${loopback.address} is a loopback address: only an API server on this machine reaches it, and its node proxy refuses it (address not allowed)`,
        setAddress,
      ),
    );
  if (portOfNode !== undefined && portOfNode !== 0 && portOfNode !== port)
    judgements.push(
      warn(
        `the Node says port ${portOfNode}, but the settings say ${port}: the running program has other settings`,
        `# give doctor the flags of the running program, as --kubelet-port ${portOfNode}`,
      ),
    );
  return judgements.length > 0 ? judgements : [pass(`${shown}, port ${portOfNode ?? port}`)];
}

function isLoopback(address: string): boolean {
  return isIP(address) === 0 ? address === "localhost" : address.startsWith("127.") || address === "::1";
}

/** Who holds the node. */
export const nodeLeaseCheck: NodeCheck = {
  name: "node.lease",
  async run(node) {
    const { facts, name, identity, loaded } = node;
    try {
      const lease = await node.lease.own();
      const process = await node.process.own().catch(() => undefined);
      const object = await node.object.own().catch(() => undefined);
      const hasRun = object?.status?.conditions?.some(({ type }) => type === "Ready") ?? false;
      const { standby } = loaded.settings.instance;
      const times = await facts.times();
      return [judgeLease({ name, lease, identity, standby, process, hasRun, times, start: startProgram(node) })];
    } catch (error) {
      if (!isForbidden(error)) throw error;
      return [
        fail(`the API server does not let the program read the lease of node ${name}: ${messageOf(error)}`, "# see permissions.leases"),
      ];
    }
  },
};

interface LeaseSituation {
  readonly name: string;
  readonly lease: Lease | undefined;
  /** Identity of the program's instance. */
  readonly identity: string;
  readonly standby: boolean;
  /** Process ID of the program on this host that runs the node. */
  readonly process: string | undefined;
  /** Whether a program has reported the node's status before. */
  readonly hasRun: boolean;
  /** The time by each clock that may be right, in milliseconds since the epoch. */
  readonly times: readonly number[];
  readonly start: readonly string[];
}

/** Judges who holds the node's lease, and whether it is renewed. */
export function judgeLease({ name, lease, identity, standby, process, hasRun, times, start }: LeaseSituation): Judgement {
  const ownProgram = process === undefined ? undefined : `process ${process} on this host`;
  if (lease === undefined) {
    if (ownProgram !== undefined)
      return fail(`${ownProgram} runs node ${name}, but has no lease`, "# see permissions.leases, and the program's log");
    return hasRun
      ? fail("there is no lease: no program runs the node", ...start)
      : pass("does not exist; the program creates it when it starts");
  }
  const holder = lease.metadata?.annotations?.[instanceAnnotation];
  const by = holder === undefined ? "a kubelet that gives no instance identity" : `instance "${holder}"`;
  const renewTime = lease.spec?.renewTime;
  if (!isRenewed(lease, times)) {
    const since = renewTime === undefined ? "never renewed" : `not renewed since ${timeText(renewTime)}`;
    if (ownProgram !== undefined)
      return fail(
        `${ownProgram} runs the node, but the lease is ${since}: it may not write it, or does not reach the API server`,
        "# see cluster.reachable, permissions.leases and the program's log",
      );
    if (hasRun) return fail(`held by ${by}, ${since}: no program runs the node`, ...start);
    return pass(`held by ${by}, ${since}; the program takes it when it starts`);
  }
  if (holder === identity) return pass(ownProgram === undefined ? `renewed by this instance, "${identity}"` : `renewed by ${ownProgram}`);
  if (ownProgram !== undefined) return pass(`renewed by ${by}; ${ownProgram} runs the node`);
  if (standby) return pass(`renewed by ${by}; this instance would stand by`);
  return fail(
    `renewed by ${by}, not by this instance, "${identity}": a run would end with exit code 78`,
    `kubectl get lease ${name} -n kube-node-lease -o yaml`,
    ...(holder === undefined ? [] : [`# if that is the same program, give doctor its identity: --identity ${holder}`]),
    "# else stop that instance, wait for it with --standby, or choose another --nodename",
  );
}
