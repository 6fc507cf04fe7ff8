import { eventually } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { podTimeout } from "./support/docker-node.ts";
import { ServiceCluster } from "./support/service-cluster.ts";
import type { ServiceNode } from "./support/service-node.ts";

const patience = { timeoutMs: 300_000, intervalMs: 500 };
const bridged = "/proc/sys/net/bridge/bridge-nf-call-iptables";
const near = "services-1";
let cluster: ServiceCluster;
let node: ServiceNode;

/** Script of a server that responds with its pod's name and the caller's address. */
const whoScript = [
  "mkdir -p /tmp/www/cgi-bin",
  `printf '#!/bin/sh\\necho "Content-Type: text/plain"\\necho\\necho "$(hostname) $REMOTE_ADDR"\\n' >/tmp/www/cgi-bin/who`,
  "chmod 755 /tmp/www/cgi-bin/who",
  "exec httpd -f -p 8080 -h /tmp/www",
].join("; ");

/** A Deployment of pods that serve {@link whoScript}. */
function servers(name: string, replicas: number, more: object = {}): object {
  const containers = [
    {
      name: "web",
      image: "busybox:1.37",
      command: ["sh", "-c", whoScript],
      ports: [{ name: "http", containerPort: 8080 }],
      readinessProbe: { tcpSocket: { port: "http" }, periodSeconds: 1, timeoutSeconds: 10 },
    },
  ];
  const spec = { containers, terminationGracePeriodSeconds: 1, nodeSelector: { "kubernetes.io/hostname": near }, ...more };
  const template = { metadata: { labels: { app: name } }, spec };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: { replicas, selector: { matchLabels: { app: name } }, template },
  };
}

/** A Service for these pods, on port 80. */
function service(name: string, app: string, spec: object = {}): object {
  const ports = [{ name: "http", port: 80, targetPort: "http" }];
  return { apiVersion: "v1", kind: "Service", metadata: { name }, spec: { selector: { app }, ports, ...spec } };
}

/** A pod that sends requests. */
function caller(name: string, spec: object = {}): object {
  const containers = [{ name: "shell", image: "busybox:1.37", command: ["sleep", "infinity"] }];
  const own = { containers, terminationGracePeriodSeconds: 1, nodeSelector: { "kubernetes.io/hostname": near } };
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: { ...own, ...spec } };
}

interface PodView {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly nodeName: string };
  readonly status: {
    readonly podIP: string;
    readonly podIPs: readonly { readonly ip: string }[];
    readonly hostIPs: readonly { readonly ip: string }[];
  };
}

async function podsOf(app: string): Promise<PodView[]> {
  return (JSON.parse(await cluster.say("get", "pods", "-l", `app=${app}`, "-o", "json")) as { items: PodView[] }).items;
}

async function podNamed(name: string): Promise<PodView> {
  return JSON.parse(await cluster.say("get", "pod", name, "-o", "json")) as PodView;
}

async function field(kind: string, name: string, path: string): Promise<string> {
  return await cluster.say("get", kind, name, "-o", `jsonpath={${path}}`);
}

/**
 * Script that sends a request with nc, because Debian's static wget cannot resolve names in an image without other files. It prints
 * the response, or nothing after 5 seconds.
 */
const request = (host: string, port: number): string => `printf 'GET /cgi-bin/who HTTP/1.0\\r\\n\\r\\n' | busybox nc -w 5 ${host} ${port}`;

interface Answer {
  /** Name of the pod that responded. */
  readonly server: string;
  /** The caller's address as seen by that pod. */
  readonly caller: string;
}

function answerIn(text: string): Answer | undefined {
  const [, server, caller] = /^HTTP\/1\.1 200 OK\r?\n[^]*?\n\r?\n(\S+) \[?(?:::ffff:)?([0-9a-f.:]+?)\]?\n$/.exec(text) ?? [];
  return server === undefined || caller === undefined ? undefined : { server, caller };
}

/** Sends a request from a pod. @returns the response; `undefined` if there is none */
async function call(pod: string, host: string, port = 80): Promise<Answer | undefined> {
  const { code, stdout, stderr } = await cluster.kubectl.run(["exec", pod, "--", "sh", "-c", `${request(host, port)}; true`]);
  expect(code, stderr).toBe(0);
  return answerIn(stdout);
}

/** Sends requests from a pod until there is a response: a busy machine may need more than the five seconds that a request waits. */
function answerTo(pod: string, host: string, port = 80): Promise<Answer> {
  return eventually(async () => {
    const answer = await call(pod, host, port);
    if (answer === undefined) throw new Error(`no response from ${host}, port ${port}`);
    return answer;
  }, patience);
}

/** Sends a request from a process on a machine, outside any pod. */
function callFrom(machine: ServiceNode["machine"], host: string, port: number): Answer | undefined {
  return answerIn(machine.run(`${request(host, port)} || true`));
}

beforeAll(async () => {
  cluster = await ServiceCluster.start(1);
  node = await cluster.addNode(near, {
    number: 2,
    engineFlags: ["--userland-proxy=false"],
    prepare: (machine) => void machine.run(`echo 0 >${bridged}`),
  });
  await cluster.apply(servers("web", 2), service("web", "web"), caller("caller"));
  await cluster.say("rollout", "status", "deployment/web", `--timeout=${podTimeout}`);
  await cluster.say("wait", "pod/caller", "--for=condition=Ready", `--timeout=${podTimeout}`);
});

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
});

// Each test continues from the state of the previous one.

test("while the kernel hides bridged packets from iptables, requests to a Service hang, and the node reports why", async () => {
  const path = '.status.conditions[?(@.type=="ServiceRouting")]';
  const condition = JSON.parse(await field("node", node.name, path)) as object;
  expect(condition).toMatchObject({
    status: "False",
    reason: "BridgeNetfilterOff",
    message: expect.stringContaining("sysctl -w net.bridge.bridge-nf-call-iptables=1"),
  });
  const clusterIP = await field("service", "web", ".spec.clusterIP");
  const [pod] = await podsOf("web");
  // The bridge connects the pods without a Service.
  expect(await answerTo("caller", pod?.status.podIP ?? "", 8080)).toMatchObject({ server: pod?.metadata.name });
  for (let count = 0; count < 3; count++) expect(await call("caller", clusterIP)).toBeUndefined();

  node.machine.run(`echo 1 >${bridged}`);

  await eventually(async () => expect(await call("caller", clusterIP)).toBeDefined(), patience);
  await eventually(async () => expect(await field("node", node.name, `${path}.status`)).toBe("True"), patience);
});

test("a pod reaches pods through their Service, and they see the caller's address", async () => {
  const clusterIP = await field("service", "web", ".spec.clusterIP");
  const { status } = await podNamed("caller");
  const expected = new Set((await podsOf("web")).map(({ metadata }) => metadata.name));
  const seen = new Set<string>();

  await eventually(async () => {
    const answer = await call("caller", clusterIP);
    expect(answer?.caller).toBe(status.podIP);
    seen.add(answer?.server ?? "");
    expect(seen).toEqual(expected);
  }, patience);
});

test("a pod reaches the API server with its environment variables", async () => {
  const ask = "printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 10 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT";
  const stdout = await cluster.say("exec", "caller", "--", "sh", "-c", `echo $KUBERNETES_SERVICE_HOST; ${ask}`);

  expect(stdout).toMatch(/^10\.96\.0\.1\n/);
  expect(stdout).toContain("Client sent an HTTP request to an HTTPS server");
});

test("the only pod of a Service reaches itself through the Service", async () => {
  await cluster.apply(servers("alone", 1), service("alone", "alone"));
  await cluster.say("rollout", "status", "deployment/alone", `--timeout=${podTimeout}`);
  const [pod] = await podsOf("alone");
  const clusterIP = await field("service", "alone", ".spec.clusterIP");

  const name = pod?.metadata.name ?? "";
  await eventually(async () => expect(await call(name, clusterIP)).toMatchObject({ server: name }), patience);
});

test("a headless Service has no address, and its pods are reached by their own addresses", async () => {
  await cluster.apply(service("headless", "web", { clusterIP: "None" }));
  const pods = await podsOf("web");
  const own = pods.map(({ status }) => status.podIP).toSorted();
  const slices = async (): Promise<string[]> =>
    (
      await cluster.say(
        "get",
        "endpointslices",
        "-l",
        "kubernetes.io/service-name=headless",
        "-o",
        "jsonpath={.items[*].endpoints[*].addresses[*]}",
      )
    )
      .split(" ")
      .toSorted();
  await eventually(async () => expect(await slices()).toEqual(own), patience);

  for (const { metadata, status } of pods) expect(await answerTo("caller", status.podIP, 8080)).toMatchObject({ server: metadata.name });
});

test("a NodePort is reachable from outside, from the machine and from its pods", async () => {
  await cluster.apply(service("outside", "web", { type: "NodePort" }));
  const port = Number(await field("service", "outside", ".spec.ports[0].nodePort"));
  const names = (await podsOf("web")).map(({ metadata }) => metadata.name);

  await eventually(() => expect(names).toContain(callFrom(cluster.outside, node.address, port)?.server), patience);
  await eventually(() => expect(names).toContain(callFrom(node.machine, node.address, port)?.server), patience);
  expect(names).toContain((await answerTo("caller", node.address, port)).server);
});

test("a NodePort with the policy Local is reached from outside once a rule lets it past the engine's own; pods see the caller's address", async () => {
  await cluster.apply(service("outside-local", "web", { type: "NodePort", externalTrafficPolicy: "Local" }));
  const port = Number(await field("service", "outside-local", ".spec.ports[0].nodePort"));
  // kube-proxy has written its rules when the machine itself is answered.
  await eventually(() => expect(callFrom(node.machine, node.address, port)).toBeDefined(), patience);
  expect(callFrom(cluster.outside, node.address, port)).toBeUndefined();

  node.machine.run(`iptables -I DOCKER-USER -d ${node.podRange} -m conntrack --ctstate DNAT -j ACCEPT`);

  await eventually(() => expect(callFrom(cluster.outside, node.address, port)).toMatchObject({ caller: cluster.outsideAddress }), patience);
});

test("a Service with ClientIP affinity sends all requests of a caller to one pod", async () => {
  await cluster.say("patch", "service", "web", "-p", JSON.stringify({ spec: { sessionAffinity: "ClientIP" } }));
  await eventually(() => expect(node.machine.run("iptables-save -t nat")).toContain("--rcheck"), patience);
  const clusterIP = await field("service", "web", ".spec.clusterIP");
  const servers = new Set<string>();
  for (let count = 0; count < 12; count++) servers.add((await answerTo("caller", clusterIP)).server);

  expect(servers.size).toBe(1);
  await cluster.say("patch", "service", "web", "-p", JSON.stringify({ spec: { sessionAffinity: "None" } }));
});

test("a removed pod gets no more requests, and a new pod does", async () => {
  const clusterIP = await field("service", "web", ".spec.clusterIP");
  const before = (await podsOf("web")).map(({ metadata }) => metadata.name);
  await cluster.say("rollout", "restart", "deployment/web");
  await cluster.say("rollout", "status", "deployment/web", `--timeout=${podTimeout}`);

  await eventually(async () => {
    const answers = await Promise.all(Array.from({ length: 4 }, () => call("caller", clusterIP)));
    for (const answer of answers) expect([undefined, ...before]).not.toContain(answer?.server);
  }, patience);
});

test("pods, their host and their hosts files have an address of each family", async () => {
  const { status } = await podNamed("caller");
  const [first, second] = status.podIPs.map(({ ip }) => ip);

  expect(first).toBe(status.podIP);
  expect(first?.startsWith(node.podRange.replace("0/24", ""))).toBe(true);
  expect(second?.startsWith(node.podRangeV6.replace("::/64", ":"))).toBe(true);
  expect(status.hostIPs.map(({ ip }) => ip)).toEqual([node.address, node.addressV6]);
  const hosts = await cluster.say("exec", "caller", "--", "cat", "/etc/hosts");
  for (const ip of [first, second]) expect(hosts).toContain(`${ip}\tcaller\n`);
});

test("a dual-stack Service is reachable by both addresses", async () => {
  await cluster.apply(service("both", "web", { type: "NodePort", ipFamilyPolicy: "RequireDualStack" }));
  const clusterIPs = JSON.parse(await field("service", "both", ".spec.clusterIPs")) as string[];
  const nodePort = Number(await field("service", "both", ".spec.ports[0].nodePort"));
  const { status } = await podNamed("caller");
  expect(clusterIPs.map((ip) => ip.includes(":"))).toEqual([false, true]);

  for (const [index, ip] of clusterIPs.entries())
    await eventually(async () => expect(await call("caller", ip)).toMatchObject({ caller: status.podIPs[index]?.ip }), patience);
  await eventually(() => expect(callFrom(cluster.outside, node.addressV6, nodePort)).toBeDefined(), patience);
});

describe("with a second node", () => {
  const far = "services-2";
  let other: ServiceNode;
  const onFar = { nodeSelector: { "kubernetes.io/hostname": far } };

  /** Routes packets for another node's pods to that node, and lets the engine accept packets for its pods. */
  function route(from: ServiceNode, to: ServiceNode): void {
    from.machine.run(`ip route add ${to.podRange} via ${to.address}; ip -6 route add ${to.podRangeV6} via ${to.addressV6}`);
    from.machine.run(`iptables -I DOCKER-USER -d ${from.podRange} -j ACCEPT`);
    // Current engines filter IPv6 as well.
    from.machine.run(`! ip6tables -L DOCKER-USER >/dev/null 2>&1 || ip6tables -I DOCKER-USER -d ${from.podRangeV6} -j ACCEPT`);
  }

  beforeAll(async () => {
    other = await cluster.addNode(far, { number: 3, isIPv6First: true });
    await cluster.apply(
      servers("far", 2, onFar),
      service("far", "far"),
      service("far-both", "far", { ipFamilyPolicy: "RequireDualStack" }),
    );
    await cluster.apply(caller("far-caller", onFar));
    await cluster.say("rollout", "status", "deployment/far", `--timeout=${podTimeout}`);
    await cluster.say("wait", "pod/far-caller", "--for=condition=Ready", `--timeout=${podTimeout}`);
  });

  test("pods of a node whose first address is IPv6 have an IPv6 main address, and respond to probes there", async () => {
    const { status } = await podNamed("far-caller");

    expect(status.podIP).toContain(":");
    expect(status.podIPs.map(({ ip }) => ip.includes(":"))).toEqual([true, false]);
    expect(status.hostIPs.map(({ ip }) => ip)).toEqual([other.addressV6, other.address]);
  });

  test("pods reach those of the other node, under their own addresses, only with routes and a rule for the engine", async () => {
    const [server] = await podsOf("far");
    const { status } = await podNamed("caller");
    const addresses = server?.status.podIPs.map(({ ip }) => ip) ?? [];
    expect(addresses).toHaveLength(2);
    for (const ip of addresses) expect(await call("caller", ip, 8080)).toBeUndefined();

    route(node, other);
    route(other, node);

    for (const ip of addresses)
      expect(await answerTo("caller", ip, 8080)).toEqual({
        server: server?.metadata.name,
        caller: status.podIPs.find((own) => own.ip.includes(":") === ip.includes(":"))?.ip,
      });
  });

  test("a Service with pods on the other node is reachable from both nodes, by both families", async () => {
    const names = (await podsOf("far")).map(({ metadata }) => metadata.name);
    for (const ip of JSON.parse(await field("service", "far-both", ".spec.clusterIPs")) as string[])
      for (const pod of ["caller", "far-caller"])
        await eventually(async () => expect(names).toContain((await call(pod, ip))?.server), patience);
  });

  test("a NodePort on a node without pods of the Service leads to the other node; with the policy Local the caller's address is kept", async () => {
    await cluster.apply(service("far-port", "far", { type: "NodePort" }));
    await cluster.apply(service("far-local", "far", { type: "NodePort", externalTrafficPolicy: "Local" }));
    const [port, local] = await Promise.all(
      ["far-port", "far-local"].map(async (name) => Number(await field("service", name, ".spec.ports[0].nodePort"))),
    );

    await eventually(() => expect(callFrom(cluster.outside, node.address, port ?? 0)).toBeDefined(), patience);
    await eventually(
      () => expect(callFrom(cluster.outside, other.address, local ?? 0)).toMatchObject({ caller: cluster.outsideAddress }),
      patience,
    );
    expect(callFrom(cluster.outside, node.address, local ?? 0)).toBeUndefined();
  });

  test("if the engine runs its own port proxy, a pod does not reach itself through its Service", async () => {
    await cluster.apply(servers("far-alone", 1, onFar), service("far-alone", "far-alone"));
    await cluster.say("rollout", "status", "deployment/far-alone", `--timeout=${podTimeout}`);
    const [pod] = await podsOf("far-alone");
    const clusterIP = await field("service", "far-alone", ".spec.clusterIP");
    await eventually(async () => expect(await call("far-caller", clusterIP)).toBeDefined(), patience);

    expect(await call(pod?.metadata.name ?? "", clusterIP)).toBeUndefined();
  });
});
