import { systemClock } from "@virtual-kubelet/clock";
import type { Lease, Node } from "@virtual-kubelet/kube-client";
import { resources } from "@virtual-kubelet/kube-client";
import { createCertificateAuthority, createCertificateRequest, generateKey } from "@virtual-kubelet/pki";
import { freePort } from "@virtual-kubelet/testing";
import { once } from "node:events";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { mkdir, truncate } from "node:fs/promises";
import { createServer, type AddressInfo, type Server } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFakeNomad } from "../nomad/fake/start-fake-nomad.ts";
import { complaintsOf, findingsOf } from "../support/doctor.ts";
import { account, DoctorRig, nodeName, type DoctorOptions } from "./support/doctor-rig.ts";

const { signal } = new AbortController();
let rig: DoctorRig;

beforeAll(async () => {
  // Doctor gives up on a provider that takes 10 s to load, and on a busy machine the first import, of the sources, may.
  await Promise.all([import("@virtual-kubelet/provider-kubernetes"), import("@virtual-kubelet/provider-nomad")]);
  rig = await DoctorRig.open();
}, 180_000);

afterAll(async () => {
  await rig[Symbol.asyncDispose]();
});

/** The node's address in these tests, which other machines cannot reach. */
const loopback = "warn node.addresses";

/** A fault that is put in on purpose. */
interface Injected {
  readonly words?: readonly string[] | undefined;
  readonly options?: DoctorOptions;
  /** Ends the fault. */
  readonly undo?: () => Promise<unknown>;
}

interface Fault {
  readonly fault: string;
  /** Puts the fault in. */
  readonly inject: () => Promise<Injected>;
  /** All findings that are neither passed nor skipped, as `status check`; the first is the one that names the mend. */
  readonly found: readonly [string, ...string[]];
  /** Text of the message of the first. */
  readonly says: RegExp;
  /** One line of its repair. */
  readonly repair: RegExp;
}

const kubeconfigWith = async (change: (config: KubeconfigJson) => void): Promise<Injected> => {
  const config = JSON.parse(rig.server.kubeconfig({ user: account })) as KubeconfigJson;
  change(config);
  return { words: ["--kubeconfig", await rig.write("changed", config)] };
};

interface KubeconfigJson {
  clusters: [{ cluster: Record<string, unknown> }];
  users: [{ user: Record<string, unknown> }];
}

const clusterOf = (fields: Record<string, unknown>): Promise<Injected> =>
  kubeconfigWith(({ clusters }) => Object.assign(clusters[0].cluster, fields));

const joinedFile = "kubelet-client-current.pem";

const execCredential = { apiVersion: "client.authentication.k8s.io/v1", interactiveMode: "Never" };

/** Puts a certificate as join writes it into a folder. */
async function joined(directory: string, validMs: number): Promise<void> {
  const validity = { notBeforeMs: Date.now() - 7_200_000, notAfterMs: Date.now() + validMs };
  const subject = { commonName: `system:node:${nodeName}`, organizations: ["system:nodes"] };
  const { certificate, key } = createCertificateAuthority("other").issue({ ...subject, usages: ["client auth"], validity });
  await mkdir(join(rig.folder, directory));
  await rig.write(`${directory}/${joinedFile}`, certificate + key);
}

/** Runs with the certificate in the folder, where the settings have the node's certificates. */
async function kubeconfigOfFile(directory: string): Promise<Injected> {
  const file = join(rig.folder, directory, joinedFile);
  const { words = [], ...injected } = await kubeconfigWith(
    ({ users }) => void (users[0].user = { "client-certificate": file, "client-key": file }),
  );
  return { ...injected, words: [...words, "--cert-dir", directory] };
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

async function listen(server: Server, port = 0): Promise<{ readonly port: number; readonly undo: () => Promise<unknown> }> {
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    undo: async () => {
      server.close();
      if ("closeAllConnections" in server) (server as { closeAllConnections(): void }).closeAllConnections();
      await once(server, "close");
    },
  };
}

/** Passes requests on to the API server, as the program's user, and changes the answers. */
async function throughServer(
  change: (path: string, answer: { status: number; headers: Record<string, string>; body: string }) => void,
): Promise<Injected> {
  const transport = rig.server.transport({ user: account, groups: ["system:serviceaccounts"] });
  const server = createHttpServer((request, response) => {
    void (async () => {
      let sent = "";
      for await (const chunk of request) sent += String(chunk);
      const path = request.url ?? "";
      const method = request.method as "GET" | "POST";
      const headers = { "content-type": "application/json", accept: "application/json" };
      const got = await transport.request({ method, path, headers, pool: "short", signal, ...(sent !== "" && { body: sent }) });
      let body = "";
      for await (const chunk of got.body) body += Buffer.from(chunk).toString();
      const answer = { status: got.status, headers: { "content-type": "application/json" }, body };
      change(path, answer);
      response.writeHead(answer.status, answer.headers).end(answer.body);
    })().catch((error: unknown) => {
      // A program that has left gets no answer.
      if (!request.readableAborted && !response.destroyed) throw error;
    });
  });
  const { port, undo } = await listen(server);
  const injected = await kubeconfigWith((config) => {
    config.clusters[0].cluster = { server: `http://127.0.0.1:${port}` };
    config.users[0].user = { token: "none" };
  });
  return { ...injected, undo };
}

/** Takes rights from the program's role. */
async function withoutRight(resource: string, verb: string, role = "clusterroles/virtual-kubelet:serviceaccount:vk"): Promise<Injected> {
  const path = `/apis/rbac.authorization.k8s.io/v1/${role}`;
  const read = async () =>
    (await rig.client.raw("GET", path, undefined, { signal })) as { rules: { resources: string[]; verbs: string[] }[] };
  const before = await read();
  const rules = before.rules.flatMap((rule) => {
    if (!rule.resources.includes(resource)) return [rule];
    const others = rule.resources.filter((each) => each !== resource);
    const verbs = rule.verbs.filter((each) => each !== verb);
    return [
      ...(others.length > 0 ? [{ ...rule, resources: others }] : []),
      ...(verbs.length > 0 ? [{ ...rule, resources: [resource], verbs }] : []),
    ];
  });
  await rig.client.raw("PUT", path, { ...before, rules }, { signal });
  return { undo: async () => rig.client.raw("PUT", path, { ...(await read()), rules: before.rules }, { signal }) };
}

/** Changes the node's object, and changes it back. */
async function patchedNode(body: unknown, back: unknown): Promise<Injected> {
  const patch = (content: unknown) => rig.client.patch(resources.nodes, { name: nodeName }, { type: "merge", body: content }, { signal });
  await patch(body);
  return { undo: () => patch(back) };
}

let others = 0;

/** Another node of the cluster, which no program runs, seen by the administrator. */
async function otherNode(
  parts: {
    readonly node?: Pick<Node, "status">;
    readonly lease?: Lease["spec"];
    readonly words?: readonly string[];
  } = {},
): Promise<Injected & { readonly name: string; readonly port: number }> {
  const name = `other-${++others}`;
  const port = await freePort();
  if (parts.node) await createNode(name, parts.node.status);
  if (parts.lease)
    await rig.client.create(
      resources.leases,
      { metadata: { namespace: "kube-node-lease", name, annotations: { "virtual-kubelet.io/instance": "one" } }, spec: parts.lease },
      { signal },
    );
  const words = ["--kubeconfig", "admin", "--nodename", name, "--kubelet-port", String(port), "--cert-dir", name, ...(parts.words ?? [])];
  const undo = async (): Promise<void> => {
    const path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/";
    if (parts.lease) await rig.client.raw("DELETE", path + name, undefined, { signal });
    if (parts.node) await rig.client.delete(resources.nodes, { name }, {}, { signal });
  };
  return { name, port, words, undo };
}

const fresh = (): Lease["spec"] => ({ leaseDurationSeconds: 40, renewTime: microTime(Date.now()), holderIdentity: "one" });
const expired = (): Lease["spec"] => ({ ...fresh(), renewTime: microTime(Date.now() - 3_600_000) });
const microTime = (ms: number): string => new Date(ms).toISOString().replace("Z", "000Z");

const since = { lastHeartbeatTime: "2026-01-01T00:00:00Z", lastTransitionTime: "2026-01-01T00:00:00Z" };
const ready = { type: "Ready", status: "True", reason: "KubeletReady", message: "kubelet is posting ready status", ...since };
const unknown = { ...ready, status: "Unknown", reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." };

/** Status of a node whose server is on a port of this machine. */
const statusOf = (conditions: readonly object[], port: number, address = "127.0.0.1") =>
  ({
    conditions,
    addresses: [{ type: "InternalIP", address }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  }) as unknown as Node["status"];

/** A node that seems to run, with a server in place of the kubelet's. */
async function servedNode(answer: RequestListener): Promise<Injected> {
  const other = await otherNode({ lease: fresh() });
  const { certificate, key } = createCertificateAuthority("kubelet").issue({
    commonName: `system:node:${other.name}`,
    names: ["127.0.0.1"],
    usages: ["server auth"],
  });
  const { undo } = await listen(
    createTlsServer({ cert: certificate, key, requestCert: true, rejectUnauthorized: false }, answer),
    other.port,
  );
  await createNode(other.name, statusOf([ready], other.port));
  return {
    words: other.words,
    undo: async () => [await undo(), await other.undo?.(), await rig.client.delete(resources.nodes, { name: other.name }, {}, { signal })],
  };
}

async function createNode(name: string, status: Node["status"]): Promise<void> {
  const taints = [{ key: "virtual-kubelet.io/provider", value: "mock", effect: "NoSchedule" }];
  await rig.client.create(resources.nodes, { metadata: { name }, spec: { taints } }, { signal });
  await rig.client.patch(resources.nodes, { name }, { type: "merge", body: { status } }, { subresource: "status", signal });
}

/** A request for a certificate of another node, decided or not. */
async function requested(decision?: "Denied"): Promise<Injected> {
  const other = await otherNode();
  const request = createCertificateRequest(
    { commonName: `system:node:${other.name}`, organizations: ["system:nodes"], names: ["192.0.2.7"] },
    generateKey(),
  );
  const name = `csr-${other.name}`;
  const spec = { request: base64(request), signerName: "kubernetes.io/kubelet-serving", usages: ["digital signature", "server auth"] };
  const created = await rig.client.create(resources.certificateSigningRequests, { metadata: { name }, spec }, { signal });
  const path = `/apis/certificates.k8s.io/v1/certificatesigningrequests/${name}`;
  const conditions = [{ type: decision, status: "True", reason: "Test", message: "not this one" }];
  if (decision) await rig.client.raw("PUT", `${path}/approval`, { ...created, status: { conditions } }, { signal });
  return { words: other.words, undo: async () => await rig.client.raw("DELETE", path, undefined, { signal }) };
}

async function providerModule(name: string, members: string): Promise<Injected> {
  const module = `export const provider = { name: "made", capabilities: {}, configSchema: { safeParse: (data) => ({ success: true, data }) },
    create: () => ({ ${members} }) };`;
  const { words = [] } = await otherNode();
  return { words: [...words, "--provider", `./${await rig.write(`${name}.mjs`, module)}`] };
}

async function nomad(refuses: (path: string) => { readonly status: number; readonly text: string } | undefined): Promise<Injected> {
  const fake = await startFakeNomad();
  fake.fault = ({ path }) => refuses(path);
  const config = await rig.write("nomad.json", { address: fake.address, token: "very-secret-token" });
  const { words = [] } = await otherNode();
  return { words: [...words, "--provider", "nomad", "--provider-config", config], undo: async () => await fake[Symbol.asyncDispose]() };
}

const clockAhead = (ms: number) => ({
  ...systemClock,
  now: () => systemClock.now() + ms,
  monotonic: () => systemClock.monotonic(),
  sleep: systemClock.sleep.bind(systemClock),
  setTimer: systemClock.setTimer.bind(systemClock),
});

const faults: readonly Fault[] = [
  {
    fault: "a kubeconfig that is missing",
    inject: async () => ({ words: ["--kubeconfig", "none"] }),
    found: ["fail cluster.kubeconfig"],
    says: /there is no file .*none/,
    repair: /name an existing kubeconfig with --kubeconfig/,
  },
  {
    fault: "a kubeconfig that is malformed",
    inject: async () => ({ words: ["--kubeconfig", await rig.write("broken", "clusters: [")] }),
    found: ["fail cluster.kubeconfig"],
    says: /kubeconfig .*broken: /,
    repair: /kubectl config view/,
  },
  {
    fault: "a context that the kubeconfig lacks",
    inject: async () => ({ words: ["--context", "typo"] }),
    found: ["fail cluster.kubeconfig"],
    says: /there is no context "typo"/,
    repair: /kubectl config get-contexts/,
  },
  {
    fault: "an authority of another cluster",
    inject: () => clusterOf({ "certificate-authority-data": base64(createCertificateAuthority("other").certificate) }),
    found: ["fail cluster.reachable"],
    says: /certificate signed by unknown authority/,
    repair: /kubectl config set-cluster NAME --certificate-authority=/,
  },
  {
    fault: "a client certificate that has expired",
    inject: () =>
      kubeconfigWith(({ users }) => {
        const validity = { notBeforeMs: Date.now() - 7_200_000, notAfterMs: Date.now() - 3_600_000 };
        const { certificate, key } = createCertificateAuthority("other").issue({ commonName: account, usages: ["client auth"], validity });
        users[0].user = { "client-certificate-data": base64(certificate), "client-key-data": base64(key) };
      }),
    found: ["fail cluster.credentials", "fail cluster.identity"],
    says: /the client certificate has expired/,
    repair: /issue a new client certificate/,
  },
  {
    fault: "a client certificate of join that has expired",
    inject: async () => {
      await joined("expired", -3_600_000);
      return kubeconfigOfFile("expired");
    },
    found: ["fail cluster.credentials", "fail cluster.identity"],
    says: /the client certificate has expired/,
    repair: /^virtual-kubelet join HOST:PORT --token TOKEN .*--cert-dir expired/,
  },
  {
    fault: "a client certificate of join that is half-written",
    inject: async () => {
      await joined("half", 3_600_000);
      await truncate(join(rig.folder, "half", joinedFile), 300);
      return kubeconfigOfFile("half");
    },
    found: ["fail cluster.kubeconfig"],
    says: /kubelet-client-current\.pem, which holds no certificate/,
    repair: /^virtual-kubelet join HOST:PORT .* --force .*--cert-dir half/,
  },
  {
    fault: "a credential command that fails",
    inject: () => kubeconfigWith(({ users }) => void (users[0].user = { exec: { ...execCredential, command: "false" } })),
    found: ["fail cluster.credentials"],
    says: /credential command .*false/,
    repair: /correct the user of the kubeconfig/,
  },
  {
    fault: "a token that the API server refuses",
    inject: () => kubeconfigWith(({ users }) => void (users[0].user = { token: "very-secret-token" })),
    found: ["fail cluster.identity"],
    says: /refuses the credentials/,
    repair: /kubectl auth whoami/,
  },
  {
    fault: "a wrong port of the API server",
    inject: () => clusterOf({ server: "https://127.0.0.1:1" }),
    found: ["fail cluster.reachable"],
    says: /nothing listens at https:\/\/127\.0\.0\.1:1/,
    repair: /kubectl config set-cluster NAME --server=/,
  },
  {
    fault: "a name of the API server that nobody knows",
    inject: () => clusterOf({ server: "https://api.cluster.invalid:6443" }),
    found: ["fail cluster.reachable"],
    says: /api\.cluster\.invalid .*cannot be resolved/,
    repair: /getent hosts api\.cluster\.invalid/,
  },
  {
    fault: "a name that the API server's certificate lacks",
    inject: () => clusterOf({ "tls-server-name": "api.example.com" }),
    found: ["fail cluster.reachable"],
    says: /certificate is not valid for/,
    repair: /--tls-server-name/,
  },
  {
    fault: "a proxy that refuses",
    async inject() {
      const proxy = createHttpServer();
      proxy.on("connect", (_request, socket) => void socket.end("HTTP/1.1 403 Forbidden\r\n\r\n"));
      const { port, undo } = await listen(proxy);
      return { ...(await clusterOf({ "proxy-url": `http://me:very-secret-token@127.0.0.1:${port}` })), undo };
    },
    found: ["fail cluster.reachable"],
    says: /the proxy .* does not connect to .*403/,
    repair: /NO_PROXY/,
  },
  {
    fault: "something else in place of the API server",
    async inject() {
      const { port, undo } = await listen(createHttpServer((_request, response) => void response.end("<html>hello</html>")));
      return { ...(await clusterOf({ server: `http://127.0.0.1:${port}` })), undo };
    },
    found: ["fail cluster.reachable"],
    says: /is not a Kubernetes API server/,
    repair: /correct the server in the kubeconfig/,
  },
  {
    fault: "an API server that cannot serve yet",
    async inject() {
      const rule = rig.server.faults.inject({ path: /^\/version/ }, { kind: "status", status: 503 });
      return { undo: async () => rule[Symbol.dispose]() };
    },
    found: ["fail cluster.reachable"],
    says: /answers 503/,
    repair: /readyz\?verbose/,
  },
  {
    fault: "a clock that is a minute and a half ahead",
    inject: async () => ({ options: { clock: clockAhead(93_000) } }),
    found: ["fail cluster.clock", loopback],
    says: /clock is 9[234] s ahead of the API server's/,
    repair: /timedatectl set-ntp true/,
  },
  {
    fault: "a clock that is ten minutes behind",
    inject: async () => ({ options: { clock: clockAhead(-600_000) } }),
    found: ["fail cluster.clock", loopback],
    says: /clock is (599|600|601) s behind/,
    repair: /timedatectl set-ntp true/,
  },
  {
    fault: "an API server that is much too old",
    inject: () => throughServer((path, answer) => void (path === "/version" && (answer.body = JSON.stringify({ gitVersion: "v1.25.9" })))),
    found: ["fail cluster.version", loopback],
    says: /Kubernetes v1\.25\.9 is too old/,
    repair: /upgrade the cluster/,
  },
  ...(
    [
      ["nodes/status", "patch"],
      ["secrets", "list"],
      ["events", "create"],
      ["tokenreviews", "create"],
      ["subjectaccessreviews", "create"],
      ["pods/status", "patch"],
    ] as const
  ).map(([resource, verb]): Fault => ({
    fault: `a missing right to ${verb} ${resource}`,
    inject: () => withoutRight(resource, verb),
    found: [`fail permissions.${resource}`, loopback],
    says: new RegExp(`may not ${verb} ${resource}`),
    repair: /^virtual-kubelet manifests rbac --run-as=service-account .*--provider mock --nodename vk .*\| kubectl apply -f -$/,
  })),
  {
    fault: "a missing right to create leases",
    inject: () => withoutRight("leases", "create", "namespaces/kube-node-lease/roles/virtual-kubelet:serviceaccount:vk:leases"),
    found: ["fail permissions.leases", loopback],
    says: /may not create leases in namespace kube-node-lease/,
    repair: /^virtual-kubelet manifests rbac /,
  },
  {
    fault: "credentials of another node",
    inject: async () => ({ words: ["--kubeconfig", await rig.kubeconfigOf({ user: "system:node:elsewhere", groups: ["system:nodes"] })] }),
    found: ["fail cluster.identity"],
    says: /system:node:elsewhere may run only node elsewhere/,
    repair: /--nodename elsewhere, or use credentials of system:node:vk/,
  },
  {
    fault: "credentials of the node without its group",
    inject: async () => ({ words: ["--kubeconfig", await rig.kubeconfigOf({ user: "system:node:vk" })] }),
    found: ["fail cluster.identity"],
    says: /not in the group system:nodes/,
    repair: /O=system:nodes, CN=system:node:vk/,
  },
  {
    fault: "a node that another instance runs",
    inject: async () => ({ words: ["--identity", "two", "--cert-dir", "elsewhere"] }),
    found: ["fail node.lease", loopback],
    says: /instance "one", not by this instance, "two": a run would end with exit code 78/,
    repair: /--identity one/,
  },
  {
    fault: "a node that is cordoned",
    inject: () => patchedNode({ spec: { unschedulable: true } }, { spec: { unschedulable: null } }),
    found: ["warn node.taints", loopback],
    says: /cordoned/,
    repair: /^kubectl uncordon vk$/,
  },
  {
    fault: "a taint of somebody else",
    async inject() {
      const { spec } = await rig.client.get(resources.nodes, { name: nodeName }, { signal });
      const taints = spec?.taints ?? [];
      return patchedNode({ spec: { taints: [...taints, { key: "team", value: "a", effect: "NoSchedule" }] } }, { spec: { taints } });
    },
    found: ["warn node.taints", loopback],
    says: /also tolerate the taint team=a:NoSchedule/,
    repair: /^kubectl taint node vk team:NoSchedule-$/,
  },
  {
    fault: "a node that was deleted while its program runs",
    inject: () => otherNode({ lease: fresh() }),
    found: ["fail node.object"],
    says: /does not exist, although a program runs it/,
    repair: /the program creates it again/,
  },
  {
    fault: "a program that has ended",
    inject: () => otherNode({ lease: expired(), node: { status: statusOf([unknown], 1) } }),
    found: ["fail node.ready", "fail node.lease", loopback],
    says: /NotReady since 2026-01-01T00:00:00Z: NodeStatusUnknown: Kubelet stopped posting node status/,
    repair: /^virtual-kubelet run .*--nodename other-/,
  },
  {
    fault: "a node without addresses",
    inject: () => otherNode({ lease: fresh(), node: { status: { conditions: [ready] } } }),
    found: ["fail node.addresses", "fail kubelet.reach"],
    says: /no preferred addresses found; known addresses: \[\]/,
    repair: /^virtual-kubelet run --node-ip /,
  },
  {
    fault: "a certificate request that waits",
    inject: () => requested(),
    found: ["warn certificate.request"],
    says: /request csr-other-\d+ waits for approval/,
    repair: /^kubectl certificate approve csr-other-\d+$/,
  },
  {
    fault: "a certificate request that was denied",
    inject: () => requested("Denied"),
    found: ["fail certificate.request"],
    says: /request csr-other-\d+ was denied: Test: not this one/,
    repair: /^kubectl delete csr csr-other-\d+/,
  },
  {
    fault: "a certificate that lacks the node's address",
    async inject() {
      const { certificate, key } = createCertificateAuthority("company").issue({
        commonName: "node",
        names: ["192.0.2.1"],
        usages: ["server auth"],
      });
      await rig.write("tls.crt", certificate);
      await rig.write("tls.key", key);
      const node = { status: statusOf([ready], 1, "192.0.2.8") };
      return await otherNode({ node, words: ["--tls-cert-file", "tls.crt", "--tls-private-key-file", "tls.key", "--kubelet-port", "1"] });
    },
    found: ["fail certificate.serving", "fail node.lease"],
    says: /not valid for 192\.0\.2\.8, .* only for IP Address:192\.0\.2\.1/,
    repair: /replace .*tls\.crt by a certificate that is also valid for 192\.0\.2\.8/,
  },
  {
    fault: "a certificate that has expired",
    async inject() {
      const validity = { notBeforeMs: Date.now() - 7_200_000, notAfterMs: Date.now() - 3_600_000 };
      const { certificate, key } = createCertificateAuthority("company").issue({ commonName: "node", usages: ["server auth"], validity });
      await rig.write("old.crt", certificate);
      await rig.write("old.key", key);
      return await otherNode({ words: ["--tls-cert-file", "old.crt", "--tls-private-key-file", "old.key"] });
    },
    found: ["fail certificate.serving"],
    says: /it has expired/,
    repair: /replace .*old\.crt/,
  },
  {
    fault: "a port on which nothing listens",
    async inject() {
      const other = await otherNode({ lease: fresh() });
      await createNode(other.name, statusOf([ready], other.port));
      return {
        ...other,
        undo: async () => [await other.undo?.(), await rig.client.delete(resources.nodes, { name: other.name }, {}, { signal })],
      };
    },
    found: ["fail kubelet.reach", loopback],
    says: /nothing listens where the API server looks for the node/,
    repair: /^ss -ltnp/,
  },
  {
    fault: "a node that refuses the API server's user",
    inject: () =>
      servedNode((_request, response) => {
        response
          .writeHead(403)
          .end("Forbidden (user=kube-apiserver-kubelet-client, verb=get, resource=nodes, subresource(s)=[healthz proxy])\n");
      }),
    found: ["fail kubelet.reach", loopback],
    says: /the node refuses the API server's own user kube-apiserver-kubelet-client/,
    repair:
      /^kubectl create clusterrolebinding kube-apiserver-kubelet --clusterrole=system:kubelet-api-admin --user=kube-apiserver-kubelet-client$/,
  },
  {
    fault: "a node that does not know the API server's authority",
    inject: () => servedNode((_request, response) => void response.writeHead(401).end("Unauthorized\n")),
    found: ["fail kubelet.reach", loopback],
    says: /does not know the authority of the API server's client certificate/,
    repair: /kubectl get configmap extension-apiserver-authentication/,
  },
  {
    fault: "another program on the node's port",
    async inject() {
      const other = await otherNode();
      const { undo } = await listen(
        createServer(
          (socket) =>
            void socket
              .on("error", () => undefined)
              .resume()
              .end("220 mail\r\n"),
        ),
        other.port,
      );
      return { words: other.words, undo };
    },
    found: ["fail kubelet.port"],
    says: /is not a kubelet/,
    repair: /choose another port with --kubelet-port/,
  },
  {
    fault: "a back end that does not answer",
    inject: () => providerModule("away", 'async ping() { throw new Error("connect ECONNREFUSED 192.0.2.9:4646"); }'),
    found: ["fail provider.ping"],
    says: /ECONNREFUSED 192\.0\.2\.9:4646/,
    repair: /start the back end, or correct its address/,
  },
  {
    fault: "a back end that hangs",
    inject: () => providerModule("hangs", "ping: () => new Promise(() => {})"),
    found: ["fail provider.ping"],
    says: /no answer within 10 s/,
    repair: /start the back end/,
  },
  {
    fault: "a Nomad token without rights",
    inject: () => nomad(() => ({ status: 403, text: "Permission denied" })),
    found: ["fail provider.ping"],
    says: /Permission denied/,
    repair: /grant that right|renew token/,
  },
  {
    fault: "a Nomad that is not there",
    async inject() {
      const { words = [] } = await otherNode();
      const config = await rig.write("absent.json", { address: "http://127.0.0.1:1" });
      return { words: [...words, "--provider", "nomad", "--provider-config", config] };
    },
    found: ["fail provider.ping"],
    says: /127\.0\.0\.1:1/,
    repair: /correct its address/,
  },
  {
    fault: "a far cluster that is the home cluster",
    async inject() {
      const { words = [] } = await otherNode();
      const node = { capacity: { cpu: "1", memory: "1Gi", pods: "1" } };
      const config = await rig.write("home.json", { cluster: { kubeconfig: join(rig.folder, "admin") }, node });
      return { words: [...words, "--provider", "kubernetes", "--provider-config", config] };
    },
    found: ["warn provider.access"],
    says: /the far cluster is the home cluster/,
    repair: /virtual-kubelet providers kubernetes/,
  },
  {
    fault: "a misspelled field of the provider's configuration",
    async inject() {
      const { words = [] } = await otherNode();
      return { words: [...words, "--provider-config", await rig.write("typo.json", { pod: 5 })] };
    },
    found: ["fail provider.configuration"],
    says: /typo\.json: pod/,
    repair: /^virtual-kubelet providers mock/,
  },
  {
    fault: "a misspelled setting",
    inject: async () => ({
      words: ["--config", await rig.write("vk.yaml", "apiVersion: virtual-kubelet.io/v1alpha1\nkind: VirtualKubelet\nhelth: {}\n")],
    }),
    found: ["fail configuration.settings"],
    says: /vk\.yaml: helth: unknown field; did you mean health\?/,
    repair: /virtual-kubelet config validate/,
  },
  {
    fault: "a misspelled variable",
    inject: async () => ({ options: { env: { VKUBELET_LOG_LEVL: "debug" } } }),
    found: ["warn configuration.warnings", loopback],
    says: /VKUBELET_LOG_LEVL has no effect: unknown variable; did you mean VKUBELET_LOG_LEVEL\?/,
    repair: /^unset VKUBELET_LOG_LEVL$/,
  },
  {
    fault: "an obsolete flag",
    inject: async () => ({ words: ["--metrics-addr", ":10255"] }),
    found: ["warn configuration.warnings", loopback],
    says: /--metrics-addr has no effect/,
    repair: /remove --metrics-addr/,
  },
  {
    fault: "a client CA file that is none",
    inject: async () => ({ words: ["--client-ca-file", await rig.write("text", "some text")] }),
    found: ["fail configuration.files", loopback],
    says: /--client-ca-file: \/.*\/text: read a CA bundle/,
    repair: /correct the file/,
  },
  {
    fault: "a kubelet's API that is open to everybody",
    inject: async () => ({ words: ["--anonymous-auth", "--authorization-mode", "AlwaysAllow"] }),
    found: ["warn configuration.access", loopback],
    says: /INSECURE: everybody who can reach/,
    repair: /remove --anonymous-auth/,
  },
];

describe("doctor", () => {
  test("finds nothing that fails beside a healthy program that has the printed rights", async () => {
    const diagnosis = await rig.diagnose();

    expect({ code: diagnosis.code, complaints: complaintsOf(diagnosis) }).toEqual({ code: 0, complaints: [loopback] });
    expect(diagnosis.findings.filter(({ status }) => status === "skip")).toEqual([]);
  });

  test("finds nothing before the first run", async () => {
    const { words = [] } = await otherNode();

    const diagnosis = await rig.diagnose(words);

    expect({ code: diagnosis.code, complaints: complaintsOf(diagnosis) }).toEqual({ code: 0, complaints: [] });
  });

  test.for(faults)("finds $fault, only that, and names its mend", async ({ inject, found, says, repair }) => {
    const { words, options, undo } = await inject();
    await using _undoing = { [Symbol.asyncDispose]: async () => void (await undo?.()) };

    const diagnosis = await rig.diagnose(words, options);

    expect(complaintsOf(diagnosis).toSorted(), diagnosis.text).toEqual([...found].toSorted());
    expect(diagnosis.code).toBe(found.some((finding) => finding.startsWith("fail")) ? 1 : 0);
    const [status, check] = found[0].split(" ");
    const first = findingsOf(diagnosis, check ?? "").filter((finding) => finding.status === status);
    expect(first.map(({ message }) => message).join("\n")).toMatch(says);
    expect(first.flatMap((finding) => finding.repair)).toContainEqual(expect.stringMatching(repair));
    expect(diagnosis.text).not.toContain("very-secret-token");
    expect(diagnosis.text).not.toContain(rig.server.token);
  });

  test("leaves nothing behind that has changed", async () => {
    const paths = ["/api/v1/nodes", "/api/v1/pods", "/api/v1/events", "/apis/coordination.k8s.io/v1/leases"];
    const names = async (): Promise<unknown[]> => {
      const lists = await Promise.all(paths.map((path) => rig.client.raw("GET", path, undefined, { signal })));
      return lists.flatMap((list) => (list as { items: { metadata: { uid: string } }[] }).items.map(({ metadata }) => metadata.uid));
    };
    const before = await names();

    await rig.diagnose();

    expect(await names()).toEqual(before);
  });
});
