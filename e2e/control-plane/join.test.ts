import { resources, type KubeClient } from "@virtual-kubelet/kube-client";
import { openCertificateAuthority } from "@virtual-kubelet/pki";
import { eventually } from "@virtual-kubelet/testing";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { Program } from "../support/program.ts";
import { authorityHash, createJoinToken, setUpBootstrapTokens } from "./support/bootstrap-tokens.ts";
import { openClient, sharedControlPlane, type OpenClient } from "./support/cluster.ts";
import { applyPrintedRights } from "./support/printed-rights.ts";
import { uniqueName } from "./support/test-node.ts";
import { podOn, Pods } from "./support/workload.ts";

const { signal } = new AbortController();
const controlPlane = sharedControlPlane();
const endpoint = new URL(controlPlane.server).host;
const hash = authorityHash(controlPlane);
let opened: OpenClient;
let client: KubeClient;
let folder: string;
let cleanUp: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  opened = await openClient(controlPlane.kubeconfig);
  ({ client } = opened);
  await setUpBootstrapTokens(controlPlane, { approve: false });
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-join-"));
});

afterEach(async () => {
  for (const undo of cleanUp.toReversed()) await undo();
  cleanUp = [];
  await rm(folder, { recursive: true });
});

afterAll(async () => {
  await opened[Symbol.asyncDispose]();
});

/** Folder of a node's certificates. */
const pki = (nodeName: string): string => join(folder, "state", nodeName, "pki");

function start(words: readonly string[]): Program {
  return new Program(words, { cwd: folder });
}

/** Starts `join` with discovery by token and hash. */
function startJoin(nodeName: string, token: string, words: readonly string[] = []): Program {
  const discovery = ["--token", token, "--discovery-token-ca-cert-hash", hash];
  return start(["join", endpoint, ...discovery, "--nodename", nodeName, "--timeout", "60s", ...words]);
}

/** Waits until the program has made its request. @returns the request's name */
async function requestOf(program: Program): Promise<string> {
  let name = "";
  await eventually(
    () => {
      name = /^request: (node-csr-\w+)/m.exec(program.stdout)?.[1] ?? "";
      expect(name).not.toBe("");
    },
    { timeoutMs: 60_000, describe: "a certificate signing request" },
  );
  return name;
}

async function decide(name: string, decision: "approve" | "deny" = "approve"): Promise<void> {
  expect(await controlPlane.kubectl(["certificate", decision, name])).toMatchObject({ code: 0 });
}

/** Joins the cluster with a new token; the request is approved by hand. */
async function joinNode(nodeName: string): Promise<Program> {
  const { token } = await createJoinToken(controlPlane);
  await using program = startJoin(nodeName, token);
  await decide(await requestOf(program));
  expect(await program.exit).toBe(0);
  return program;
}

async function certificateIn(file: string): Promise<X509Certificate> {
  return new X509Certificate(await readFile(file));
}

test("a node joins with a token and the hash of the authority, and runs a pod under the Node authorizer", async () => {
  const nodeName = uniqueName("join");
  const { id, token } = await createJoinToken(controlPlane);
  await using joining = startJoin(nodeName, token);
  const name = await requestOf(joining);
  const request = await client.get(resources.certificateSigningRequests, { name }, { signal });
  expect(request.spec).toMatchObject({
    signerName: "kubernetes.io/kube-apiserver-client-kubelet",
    username: `system:bootstrap:${id}`,
    usages: ["digital signature", "client auth"],
  });
  await decide(name);
  expect(await joining.exit).toBe(0);
  expect(joining.stdout).toContain(
    `cluster: ${controlPlane.server}; its cluster-info is signed with the token ${id}, and its authority has the given hash`,
  );
  expect(joining.stdout).not.toContain(token);

  const file = join(pki(nodeName), "kubelet-client-current.pem");
  expect((await certificateIn(file)).subject).toBe(`O=system:nodes\nCN=system:node:${nodeName}`);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const kubeconfig = join(pki(nodeName), "kubeconfig");
  expect((await stat(kubeconfig)).mode & 0o777).toBe(0o600);
  expect((await readdir(pki(nodeName))).toSorted()).toEqual(["kubeconfig", "kubelet-client-current.pem"]);

  const words = ["--nodename", nodeName, "--provider", "mock", "--health-addr", "off", "--identity", nodeName];
  const rights = await applyPrintedRights(controlPlane, [...words, "--run-as=node"]);
  cleanUp.push(rights.undo, () => controlPlane.kubectl(["delete", "node", nodeName, "--ignore-not-found"]));
  await using running = start([...words, "--kubeconfig", kubeconfig]);
  expect(await controlPlane.kubectl(["wait", `node/${nodeName}`, "--for=create", "--timeout=90s"])).toMatchObject({ code: 0 });
  expect(await controlPlane.kubectl(["wait", `node/${nodeName}`, "--for=condition=Ready", "--timeout=90s"])).toMatchObject({ code: 0 });
  await client.create(resources.pods, podOn(nodeName, nodeName, "default"), { signal });
  cleanUp.push(() => controlPlane.kubectl(["delete", "pod", nodeName, "--force", "--grace-period=0", "--ignore-not-found"]));
  await new Pods(client, "default").running(nodeName);
  expect(await running.end("SIGTERM")).toBe(0);
});

test("a node that has joined already keeps its certificate, whatever the token is by then", async () => {
  const nodeName = uniqueName("join");
  await joinNode(nodeName);
  const file = join(pki(nodeName), "kubelet-client-current.pem");
  const before = await readFile(file, "utf8");
  const { token } = await createJoinToken(controlPlane);

  await using again = startJoin(nodeName, token, ["-o", "json"]);

  expect(await again.exit).toBe(0);
  expect(JSON.parse(again.stdout)).toMatchObject({ node: nodeName, server: controlPlane.server, outcome: "kept", certificate: file });
  expect(await readFile(file, "utf8")).toBe(before);
});

test("an interrupted join is continued with the same key and the same request", async () => {
  const nodeName = uniqueName("join");
  const { token } = await createJoinToken(controlPlane);
  await using interrupted = startJoin(nodeName, token);
  const name = await requestOf(interrupted);
  interrupted.kill("SIGKILL");
  await interrupted.exit;

  await using continued = startJoin(nodeName, token);
  expect(await requestOf(continued)).toBe(name);
  await decide(name);

  expect(await continued.exit).toBe(0);
  expect(continued.stdout).toContain(`request: ${name}, continued from an earlier attempt`);
});

test("a request that nobody decides ends the wait with the command that approves it", async () => {
  const nodeName = uniqueName("join");
  const { token } = await createJoinToken(controlPlane);
  await using program = startJoin(nodeName, token, ["--timeout", "10s"]);

  expect(await program.exit).toBe(1);

  const name = await requestOf(program);
  expect(program.stderr).toBe(
    `virtual-kubelet: ${name}: the request was not decided within 10 s (--timeout); approve it with: kubectl certificate approve ${name}; the same command then continues with it\n`,
  );
});

test("a denied request ends with the reason, and the next attempt makes a new one", async () => {
  const nodeName = uniqueName("join");
  const { token } = await createJoinToken(controlPlane);
  await using denied = startJoin(nodeName, token);
  const name = await requestOf(denied);
  await decide(name, "deny");
  expect(await denied.exit).toBe(1);
  expect(denied.stderr).toContain(`virtual-kubelet: ${name}: the request was denied: KubectlDeny`);

  await using again = startJoin(nodeName, token);
  const second = await requestOf(again);
  expect(second).not.toBe(name);
  await decide(second);
  expect(await again.exit).toBe(0);
});

test("a wrong hash, a wrong secret and an expired token are refused, and nothing is sent or kept", async () => {
  const nodeName = uniqueName("join");
  const { id, token } = await createJoinToken(controlPlane);

  const wrongHash = `sha256:${"0".repeat(64)}`;
  await using pinned = start(["join", endpoint, "--token", token, "--discovery-token-ca-cert-hash", wrongHash, "--nodename", nodeName]);
  expect(await pinned.exit).toBe(1);
  expect(pinned.stderr).toContain(`its authority has the hash ${hash}, expected ${wrongHash}`);

  await using secret = startJoin(nodeName, `${id}.0000000000000000`);
  expect(await secret.exit).toBe(1);
  expect(secret.stderr).toContain(`its signature was not made with the token ${id}.…: the secret is wrong`);

  const expired = await createJoinToken(controlPlane, { expiresMs: Date.now() - 60_000 });
  await using late = startJoin(nodeName, expired.token);
  expect(await late.exit).toBe(1);
  expect(late.stderr).toContain(`it has no signature by the token ${expired.id}: the token does not exist or has expired`);

  const { items } = await client.list(resources.certificateSigningRequests, {}, { signal });
  const users = [id, expired.id].map((tokenId) => `system:bootstrap:${tokenId}`);
  expect(items.filter(({ spec }) => users.includes(spec?.username ?? ""))).toEqual([]);
  expect(await readdir(pki(nodeName))).toEqual([]);
});

test("with the file of the authority instead of a hash, an expired token is refused by the API server", async () => {
  const nodeName = uniqueName("join");
  const { token } = await createJoinToken(controlPlane, { expiresMs: Date.now() - 60_000 });
  const ca = join(folder, "ca.crt");
  await writeFile(ca, controlPlane.caCertificate);

  await using program = start([
    "join",
    endpoint,
    "--token",
    token,
    "--certificate-authority",
    ca,
    "--nodename",
    nodeName,
    "--timeout",
    "60s",
  ]);

  expect(await program.exit).toBe(1);
  expect(program.stderr).toContain("virtual-kubelet: the cluster does not accept the token or certificate for joining");
});

test("a kubeconfig takes the place of HOST:PORT, with a token or with its own user", async () => {
  const { token } = await createJoinToken(controlPlane);
  for (const words of [
    ["--discovery-file", controlPlane.kubeconfigWith({ token: "not-used" }).path, "--token", token],
    ["--discovery-file", controlPlane.kubeconfigWith({ token }).path],
  ]) {
    const nodeName = uniqueName("join");
    await using program = start(["join", ...words, "--nodename", nodeName, "--timeout", "60s"]);
    await decide(await requestOf(program));
    expect(await program.exit).toBe(0);
    expect((await certificateIn(join(pki(nodeName), "kubelet-client-current.pem"))).subject).toContain(`CN=system:node:${nodeName}`);
  }
});

test("the certificate is renewed before it expires, and connections then use the new one", async () => {
  const nodeName = uniqueName("join");
  await joinNode(nodeName);
  const file = join(pki(nodeName), "kubelet-client-current.pem");
  const [ca, key] = [
    await readFile(join(controlPlane.directory, "pki/ca.crt"), "utf8"),
    await readFile(join(controlPlane.directory, "pki/ca.key"), "utf8"),
  ];
  const now = Date.now();
  // A tenth of its life is left, so it is due, whatever the jitter.
  const old = openCertificateAuthority({ certificate: ca, key }).issue({
    commonName: `system:node:${nodeName}`,
    organizations: ["system:nodes"],
    usages: ["client auth"],
    validity: { notBeforeMs: now - 3_600_000, notAfterMs: now + 300_000 },
  });
  await writeFile(file, old.certificate + old.key);
  const words = ["--nodename", nodeName, "--provider", "mock", "--health-addr", "off", "--identity", nodeName];
  cleanUp.push(() => controlPlane.kubectl(["delete", "node", nodeName, "--ignore-not-found"]));

  await using running = start([...words, "--kubeconfig", join(pki(nodeName), "kubeconfig")]);
  await eventually(() => expect(running.logs.map(({ msg }) => msg)).toContain("the client certificate was renewed"), {
    timeoutMs: 90_000,
    describe: "the renewal",
  });

  const renewed = await certificateIn(file);
  expect(renewed.validToDate.getTime()).toBeGreaterThan(now + 3_600_000);
  expect(renewed.checkPrivateKey(createPrivateKey(await readFile(file)))).toBe(true);
  const credential = `X509SHA256=${renewed.fingerprint256.replaceAll(":", "").toLowerCase()}`;
  await eventually(
    () => {
      const users = controlPlane.auditEvents().filter(({ user }) => user.username === `system:node:${nodeName}`);
      expect(users.some(({ user }) => user.extra?.["authentication.kubernetes.io/credential-id"]?.includes(credential))).toBe(true);
    },
    { timeoutMs: 60_000, describe: "requests with the new certificate" },
  );
  expect(await running.end("SIGTERM")).toBe(0);
});

test("with an expired certificate the program says at once that the node must join again", async () => {
  const nodeName = uniqueName("join");
  await joinNode(nodeName);
  const file = join(pki(nodeName), "kubelet-client-current.pem");
  const [ca, key] = [
    await readFile(join(controlPlane.directory, "pki/ca.crt"), "utf8"),
    await readFile(join(controlPlane.directory, "pki/ca.key"), "utf8"),
  ];
  const old = openCertificateAuthority({ certificate: ca, key }).issue({
    commonName: `system:node:${nodeName}`,
    organizations: ["system:nodes"],
    usages: ["client auth"],
    validity: { notBeforeMs: Date.now() - 3_600_000, notAfterMs: Date.now() - 60_000 },
  });
  await writeFile(file, old.certificate + old.key);

  await using running = start([
    "--nodename",
    nodeName,
    "--provider",
    "mock",
    "--health-addr",
    "off",
    "--kubeconfig",
    join(pki(nodeName), "kubeconfig"),
  ]);

  expect(await running.exit).toBe(78);
  expect(running.stderr).toContain(`the client certificate of node ${nodeName} has expired`);
  const { token } = await createJoinToken(controlPlane);
  await using again = startJoin(nodeName, token);
  await decide(await requestOf(again));
  expect(await again.exit).toBe(0);
});
