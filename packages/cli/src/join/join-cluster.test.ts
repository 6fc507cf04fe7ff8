import { SeededRandom, VirtualClock } from "@virtual-kubelet/clock";
import { createKubeClient, silentLogger, type CertificateSigningRequest } from "@virtual-kubelet/kube-client";
import { OpenBody, ScriptedTransport, type ScriptedAnswer } from "@virtual-kubelet/kube-client/testing";
import { createCertificateAuthority, parseCertificateRequest } from "@virtual-kubelet/pki";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parse } from "yaml";
import { joinCluster } from "./join-cluster.ts";
import type { JoinOptions } from "./join-options.ts";
import type { ClientTarget } from "./joining-client.ts";

const authority = createCertificateAuthority("kubernetes");
const token = { id: "abcdef", secret: "0123456789abcdef" };
const idle = new AbortController().signal;
const day = 86_400_000;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-join-cluster-"));
  await writeFile(join(folder, "ca.crt"), authority.certificate);
});

afterEach(() => rm(folder, { recursive: true }));

const file = (): string => join(folder, "pki/kubelet-client-current.pem");

interface Given {
  readonly force?: boolean;
  /** User of the API server's answer to a client with a certificate; `undefined`: it refuses the certificate. */
  readonly user?: string | undefined;
  /** Whether the API server lets nobody request certificates. */
  readonly isForbidden?: boolean;
  /** Default: the server and the file of its authority. */
  readonly discovery?: JoinOptions["discovery"];
}

/** Joins a cluster that approves each request at once. */
function start(given: Given = {}) {
  const clock = new VirtualClock();
  const targets: ClientTarget[] = [];
  const said: string[] = [];
  const created: CertificateSigningRequest[] = [];
  const openClient = (target: ClientTarget) => {
    targets.push(target);
    const transport = new ScriptedTransport(({ method, path, body }) => answer(target, method, path, body));
    return { client: createKubeClient(transport), [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose]() };
  };
  const type = { apiVersion: "certificates.k8s.io/v1", kind: "CertificateSigningRequest" };
  const answer = (target: ClientTarget, method: string, path: string, body: unknown): ScriptedAnswer => {
    if (path.includes("selfsubjectreviews"))
      return given.user === undefined
        ? { status: 401, body: { kind: "Status", code: 401, reason: "Unauthorized" } }
        : { status: 201, body: { status: { userInfo: { username: given.user } } } };
    expect(target.token).toBe("abcdef.0123456789abcdef");
    if (method === "POST" && given.isForbidden === true) {
      const message = 'certificatesigningrequests is forbidden: User "system:bootstrap:abcdef" cannot create resource';
      return { status: 403, body: { kind: "Status", code: 403, reason: "Forbidden", message } };
    }
    if (method === "POST") {
      const object = JSON.parse(String(body)) as CertificateSigningRequest;
      const request = parseCertificateRequest(Buffer.from(object.spec.request, "base64").toString());
      const validity = { notBeforeMs: clock.now() - day, notAfterMs: clock.now() + 100 * day };
      const certificate = Buffer.from(authority.sign(request, { usages: ["client auth"], validity })).toString("base64");
      const stored = {
        ...object,
        metadata: { ...object.metadata, uid: "u", resourceVersion: "1" },
        spec: { ...object.spec, username: "system:bootstrap:abcdef" },
      };
      created.push({ ...stored, status: { certificate } });
      return { status: 201, body: { ...type, ...stored } };
    }
    const [object] = created;
    const end = { ...type, metadata: { resourceVersion: "2", annotations: { "k8s.io/initial-events-end": "true" } } };
    return { body: new OpenBody().lines({ type: "ADDED", object: { ...type, ...object } }, { type: "BOOKMARK", object: end }) };
  };
  const options: JoinOptions = {
    nodeName: "vk-1",
    directory: join(folder, "pki"),
    isDirectoryChosen: true,
    kubeconfig: join(folder, "conf/kubeconfig"),
    discovery: given.discovery ?? { kind: "authority", server: "https://10.0.0.1:6443", token, caFile: join(folder, "ca.crt") },
    timeoutMs: undefined,
    force: given.force ?? false,
  };
  const context = { clock, random: new SeededRandom(1), env: {} };
  const result = joinCluster(options, { context, openClient, logger: silentLogger, say: (line) => void said.push(line) }, idle);
  return { clock, created, result, said, targets };
}

/** Puts a certificate into the folder. */
async function put({ commonName = "system:node:vk-1", fromMs = 0, toMs = Date.UTC(2040, 0) } = {}): Promise<string> {
  const validity = { notBeforeMs: fromMs, notAfterMs: toMs };
  const pair = authority.issue({ commonName, organizations: ["system:nodes"], usages: ["client auth"], validity });
  await mkdir(join(folder, "pki"), { mode: 0o700, recursive: true });
  await writeFile(file(), pair.certificate + pair.key, { mode: 0o600 });
  return pair.certificate + pair.key;
}

test("the kubeconfig names the file of the certificate, so that a renewed one is used, and only its owner can read it", async () => {
  const { result, said } = start();

  expect(await result).toMatchObject({ node: "vk-1", server: "https://10.0.0.1:6443", outcome: "issued", certificate: file() });
  const path = join(folder, "conf/kubeconfig");
  expect(parse(await readFile(path, "utf8"))).toMatchObject({
    clusters: [
      { cluster: { server: "https://10.0.0.1:6443", "certificate-authority-data": Buffer.from(authority.certificate).toString("base64") } },
    ],
    users: [{ name: "system:node:vk-1", user: { "client-certificate": file(), "client-key": file() } }],
    "current-context": "node",
  });
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(said.join("\n")).not.toContain(token.secret);
});

test("a valid certificate that the cluster accepts is kept, and the kubeconfig is written again", async () => {
  const before = await put();
  const { created, result } = start({ user: "system:node:vk-1" });

  expect(await result).toMatchObject({ outcome: "kept", kubeconfig: join(folder, "conf/kubeconfig") });
  expect(created).toEqual([]);
  expect(await readFile(file(), "utf8")).toBe(before);
  await stat(join(folder, "conf/kubeconfig"));
});

test("with --force a valid certificate is replaced", async () => {
  const before = await put();
  const { result } = start({ force: true });

  expect(await result).toMatchObject({ outcome: "issued" });
  expect(await readFile(file(), "utf8")).not.toBe(before);
});

test("an expired certificate is replaced without --force", async () => {
  await put({ toMs: 1_000 });
  const { result, said } = start();

  expect(await result).toMatchObject({ outcome: "issued" });
  expect(said.join("\n")).toContain("has expired");
});

test("a valid certificate that the cluster does not accept is left alone, since it is probably of another cluster", async () => {
  const before = await put();
  const { created, result } = start();

  await expect(result).rejects.toThrow("https://10.0.0.1:6443 does not accept this certificate, so it is probably of another cluster");
  expect(created).toEqual([]);
  expect(await readFile(file(), "utf8")).toBe(before);
});

test("a certificate with another key, or that is damaged, is refused with its file and what replaces it, and nothing is sent", async () => {
  const [first, second] = [await put(), await put()];
  const keyOf = (text: string): string => text.slice(text.indexOf("-----BEGIN PRIVATE KEY-----"));
  const damaged = first.replace(/(?<=CERTIFICATE-----\n).{20}/, "A".repeat(20));

  for (const text of [first.replace(keyOf(first), keyOf(second)), damaged]) {
    await writeFile(file(), text);
    const { result, targets } = start();
    await expect(result).rejects.toThrow(new RegExp(`^${file()}: .*: replace it with --force, or choose another --cert-dir$`));
    expect(targets).toEqual([]);
    expect(await readFile(file(), "utf8")).toBe(text);
  }
});

test.for(["", "-----BEGIN CERTIFICATE-----\nMIIB", "text"])(
  "with --force a file that holds no credentials is replaced: %j",
  async (text) => {
    await put();
    await writeFile(file(), text);

    await expect(start().result).rejects.toThrow(`${file()}: it holds no certificate with a private key`);
    expect(await start({ force: true }).result).toMatchObject({ outcome: "issued" });
    expect(await readFile(file(), "utf8")).toContain("PRIVATE KEY");
  },
);

test("a token that may not request certificates ends with the command that allows it", async () => {
  const { result } = start({ isForbidden: true });

  await expect(result).rejects.toThrow(
    /User "system:bootstrap:abcdef" cannot create resource.*kubectl create clusterrolebinding \S+ --clusterrole=system:node-bootstrapper --group=system:bootstrappers$/,
  );
});

test("another node's credentials are not overwritten, and nothing is sent", async () => {
  const before = await put({ commonName: "system:node:vk-2" });
  const { result, targets } = start();

  await expect(result).rejects.toThrow(`${file()}: it holds the credentials of system:node:vk-2, expected system:node:vk-1 or no file`);
  expect(targets).toEqual([]);
  expect(await readFile(file(), "utf8")).toBe(before);
});

test("a kubeconfig that was not written for the node is not overwritten, and nothing is sent", async () => {
  await mkdir(join(folder, "conf"));
  await writeFile(join(folder, "conf/kubeconfig"), "users: [{name: me, user: {token: t}}]");
  const { result, targets } = start();

  await expect(result).rejects.toThrow(`--kubeconfig: ${join(folder, "conf/kubeconfig")}: it exists, and was not written for this node`);
  expect(targets).toEqual([]);
});

test("a discovery file that is not there is refused with the setting that names it", async () => {
  const missing = join(folder, "missing");

  const { result } = start({ discovery: { kind: "file", file: missing, token: undefined } });

  await expect(result).rejects.toThrow(`--discovery-file: "${missing}": not there, expected a readable file`);
});

test("a folder in place of the kubeconfig is refused before anything is sent, also with --force", async () => {
  await mkdir(join(folder, "conf/kubeconfig"), { recursive: true });
  const { result, targets } = start({ force: true });

  await expect(result).rejects.toThrow(`--kubeconfig: ${join(folder, "conf/kubeconfig")}: it is a folder, expected a file`);
  expect(targets).toEqual([]);
});

test("an authority's file without a certificate is refused before anything is sent", async () => {
  await writeFile(join(folder, "ca.crt"), "nothing");
  const { result, targets } = start();

  await expect(result).rejects.toThrow("--certificate-authority: ");
  expect(targets).toEqual([]);
});
