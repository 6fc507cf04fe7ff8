import { VirtualClock } from "@virtual-kubelet/clock";
import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { inspect } from "node:util";
import { isInvalidInput } from "@virtual-kubelet/errdefs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Identity } from "./credentials.ts";
import { readKubeconfig } from "./kubeconfig.ts";
import { certificate, key } from "../test-support/api-server-certificate.ts";

const idle = new AbortController().signal;
const base64 = (text: string): string => Buffer.from(text).toString("base64");

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kubeconfig-"));
});

afterEach(() => rm(folder, { recursive: true }));

interface Config {
  readonly clusters?: Record<string, object>;
  readonly users?: Record<string, object>;
  readonly contexts?: Record<string, object>;
  readonly current?: string;
}

/** Writes a file. */
async function write(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}

/** Writes a kubeconfig; of clusters, users and contexts those in use are called `k`, `u` and `c`. */
function writeConfig(name: string, { clusters = {}, users = {}, contexts = {}, current }: Config): Promise<string> {
  const listOf = (what: string, entries: Record<string, object>): object[] =>
    Object.entries(entries).map(([entry, value]) => ({ name: entry, [what]: value }));
  return write(
    name,
    JSON.stringify({
      clusters: listOf("cluster", clusters),
      users: listOf("user", users),
      contexts: listOf("context", contexts),
      ...(current !== undefined && { "current-context": current }),
    }),
  );
}

const plain: Config = {
  clusters: { k: { server: "https://k:6443" } },
  users: { u: { token: "t" } },
  contexts: { c: { cluster: "k", user: "u" } },
  current: "c",
};

function read(files: readonly string[], context?: string): ReturnType<typeof readKubeconfig> {
  return readKubeconfig({ files, context, env: { PATH: process.env["PATH"] }, clock: new VirtualClock() });
}

async function identityOf(changes: Config, name = "config"): Promise<Identity> {
  return (await read([await writeConfig(name, { ...plain, ...changes })])).current(idle);
}

async function problemOf(files: readonly string[], context?: string): Promise<string> {
  const error: unknown = await read(files, context).catch((thrown: unknown) => thrown);
  expect(error).toSatisfy(isInvalidInput);
  return error instanceof Error ? error.message : "";
}

describe("of several kubeconfigs", () => {
  test("the first entry of a name counts, and the first current context", async () => {
    const files = [
      await writeConfig("one", { clusters: { k: { server: "https://one" } }, contexts: { c: { cluster: "k", user: "u" } } }),
      await writeConfig("two", { clusters: { k: { server: "https://two" } }, users: { u: { token: "two" } }, current: "c" }),
      await writeConfig("three", { users: { u: { token: "three" } }, contexts: { c: { cluster: "other", user: "other" } }, current: "x" }),
    ];

    const credentials = await read(files);

    expect(credentials.server).toBe("https://one");
    expect((await credentials.current(idle)).authorization).toBe("Bearer two");
  });

  test("each finds its files beside itself, and those of the root where they are", async () => {
    const root = await write("elsewhere/client.crt", certificate);
    await write("b/client.key", key);
    const files = [
      await writeConfig("a/config", {
        ...plain,
        users: {},
        clusters: { k: { server: "https://k", "certificate-authority": "pki/ca.crt" } },
      }),
      await writeConfig("b/config", { users: { u: { "client-certificate": root, "client-key": "client.key" } } }),
    ];
    await write("a/pki/ca.crt", certificate);

    expect((await (await read(files)).current(idle)).tls).toMatchObject({ ca: certificate, certificate, key });
  });
});

test("a kubeconfig may have merge keys, as kubectl reads them", async () => {
  const text = `
x-cluster: &cluster { server: "https://k:6443", tls-server-name: elsewhere }
x-user: &user { token: t }
clusters: [{ name: k, cluster: { <<: *cluster, tls-server-name: here } }]
users: [{ name: u, user: { <<: *user } }]
contexts: [{ name: c, context: { cluster: k, user: u } }]
current-context: c
`;
  const credentials = await read([await write("config", text)]);

  expect(credentials.server).toBe("https://k:6443");
  expect(await credentials.current(idle)).toMatchObject({ authorization: "Bearer t", tls: { serverName: "here" } });
});

test.each([
  ["a line that ends a document", "\n---\n"],
  ["another document", "\n---\ncurrent-context: elsewhere\n"],
  ["a key twice, of which the last counts", "\nclusters: [{ name: k, cluster: { server: 'https://k:6443' } }]\n"],
])("a kubeconfig may have %s, as kubectl reads it", async (_what, more) => {
  const text = `
clusters: [{ name: k, cluster: { server: "https://${more.includes("clusters") ? "other" : "k"}:6443" } }]
contexts: [{ name: c, context: { cluster: k } }]
current-context: c`;

  expect((await read([await write("config", text + more)])).server).toBe("https://k:6443");
});

describe("a kubeconfig's user", () => {
  test.each<[string, object, object]>([
    [
      "data go before files",
      {
        "client-certificate-data": base64(certificate),
        "client-certificate": "absent",
        "client-key-data": base64(key),
        "client-key": "absent",
      },
      { tls: { certificate, key } },
    ],
    ["data may be in several lines", { "client-key-data": `${base64(key).slice(0, 76)}\n${base64(key).slice(76)}\n` }, { tls: { key } }],
    ["a user name may have no password", { username: "u" }, { authorization: `Basic ${base64("u:")}` }],
    ["a password without a user name is none", { password: "p" }, { authorization: undefined }],
  ])("%s", async (_, user, expected) => {
    expect(await identityOf({ users: { u: user } })).toMatchObject(expected);
  });

  test("has a token file that goes before its token", async () => {
    await write("token", "from the file");

    expect((await identityOf({ users: { other: {}, u: { tokenFile: "token", token: "t" } } })).authorization).toBe("Bearer from the file");
  });

  test("may act as another", async () => {
    const users = { u: { token: "t", as: "ann", "as-uid": "17", "as-groups": ["dev"], "as-user-extra": { scopes: ["view"] } } };

    expect((await read([await writeConfig("config", { ...plain, users })])).headers).toEqual({
      "impersonate-user": "ann",
      "impersonate-uid": "17",
      "impersonate-group": ["dev"],
      "impersonate-extra-scopes": ["view"],
    });
    expect((await read([await writeConfig("other", plain)])).headers).toBeUndefined();
  });

  test("may be left out", async () => {
    expect(await identityOf({ contexts: { c: { cluster: "k" } } })).toMatchObject({ authorization: undefined, tls: {} });
  });
});

describe("a kubeconfig's cluster", () => {
  test.each(["https://k:6443", "http://127.0.0.1:8080", "https://k/path"])("may be at %s", async (server) => {
    expect((await read([await writeConfig("config", { ...plain, clusters: { k: { server } } })])).server).toBe(server);
  });

  test.each(["ftp://k", "k:6443", "httpsx://k", "xhttp://k", "//k"])("is not at %s", async (server) => {
    const file = await writeConfig("config", { ...plain, clusters: { k: { server } } });

    expect(await problemOf([file])).toBe(
      `kubeconfig ${file}: cluster "k" has server "${server}", expected a URL such as https://10.0.0.1:6443`,
    );
  });

  test("may be behind a proxy, which goes before the environment's, whatever NO_PROXY says", async () => {
    const proxied = { k: { server: "https://k", "proxy-url": "http://user:password@proxy:3128" } };
    const env = { HTTPS_PROXY: "http://environment:1", NO_PROXY: "*" };
    const files = [await writeConfig("config", { ...plain, clusters: proxied })];

    expect((await readKubeconfig({ files, env, clock: new VirtualClock() })).proxy).toBe("http://user:password@proxy:3128/");
  });

  test("is behind the environment's proxy if it names none", async () => {
    const files = [await writeConfig("config", { ...plain, clusters: { k: { server: "https://k", "proxy-url": "" } } })];
    const proxyOf = async (env: Record<string, string>): Promise<string | undefined> =>
      (await readKubeconfig({ files, env, clock: new VirtualClock() })).proxy;

    expect(await proxyOf({ HTTPS_PROXY: "http://environment:1" })).toBe("http://environment:1/");
    expect(await proxyOf({ HTTPS_PROXY: "http://environment:1", NO_PROXY: "k" })).toBeUndefined();
    expect(await proxyOf({})).toBeUndefined();
  });

  test("does not show its proxy's password where it is printed", async () => {
    const proxied = { k: { server: "https://k", "proxy-url": "http://user:password@proxy:3128" } };

    expect(inspect(await read([await writeConfig("config", { ...plain, clusters: proxied })]), { depth: 9 })).not.toContain("password");
  });

  test("says which authority to believe, which name, or to believe any", async () => {
    const cluster = {
      server: "https://k",
      "certificate-authority-data": base64(certificate),
      "tls-server-name": "n",
      "insecure-skip-tls-verify": true,
    };

    expect((await identityOf({ clusters: { k: cluster } })).tls).toMatchObject({
      ca: certificate,
      serverName: "n",
      insecureSkipVerify: true,
    });
    expect((await identityOf({}, "other")).tls).toMatchObject({ ca: undefined, serverName: undefined, insecureSkipVerify: false });
  });
});

describe("a kubeconfig that is wrong is named with what is wrong:", () => {
  test.each<[string, Config, string | undefined, string]>([
    ["no context is current", { ...plain, current: "" }, undefined, 'current-context is not set; name a context: "c"'],
    ["no context is there", { ...plain, contexts: {} }, undefined, 'there is no context "c", expected one of none, as there is none'],
    ["the context is not there", plain, "x", 'there is no context "x", expected one of "c"'],
    [
      "the cluster is not there",
      { ...plain, clusters: { one: { server: "https://1" }, two: { server: "https://2" } } },
      undefined,
      'context "c" names cluster "k", expected one of "one", "two"',
    ],
    ["the user is not there", { ...plain, users: { x: {} } }, undefined, 'context "c" names user "u", expected one of "x"'],
    [
      "its proxy is none",
      { ...plain, clusters: { k: { server: "https://k", "proxy-url": "ftp://u:secret@p" } } },
      undefined,
      'cluster "k" has proxy-url "ftp://…@p", expected a URL such as http://proxy:3128',
    ],
    [
      "it wants a plug-in",
      { ...plain, users: { u: { "auth-provider": { name: "gcp" } } } },
      undefined,
      'user "u" has auth-provider "gcp", which Kubernetes removed in 1.26: use exec, a token or a client certificate',
    ],
    [
      "it wants OpenID Connect",
      { ...plain, users: { u: { "auth-provider": { name: "oidc", config: {} } } } },
      undefined,
      'user "u" has auth-provider "oidc", which is not supported: use exec with a login command such as kubectl oidc-login, a token',
    ],
    [
      "it wants a command, and names none",
      { ...plain, users: { u: { exec: { apiVersion: "client.authentication.k8s.io/v1" } } } },
      undefined,
      'user "u" has exec without command, expected a program that hands out credentials',
    ],
    [
      "it wants to be in a group, and nobody",
      { ...plain, users: { u: { "as-groups": ["root"] } } },
      undefined,
      'user "u" has as-groups without as: name the user to act as',
    ],
  ])("%s", async (_, config, context, problem) => {
    const file = await writeConfig("config", config);

    expect(await problemOf([file], context)).toContain(`kubeconfig ${file}: ${problem}`);
  });

  test.each([
    ["", "it is empty"],
    ["null", "it is empty"],
    ["text", "it has no fields"],
    ["[]", "it has no fields"],
  ])("there is nothing but %j in it", async (text, problem) => {
    const file = await write("config", text);

    expect(await problemOf([file])).toContain(`kubeconfig ${file}: ${problem}`);
  });

  test("it is not there", async () => {
    const file = join(folder, "absent");

    expect(await problemOf([file])).toContain(`kubeconfig ${file}: ENOENT`);
  });
});

describe("a kubeconfig's field that holds something else is named, and its value is not shown:", () => {
  const list = "expected a list of";
  const quoted = "expected a text: put it in quotes";
  const pem = "expected what `base64` makes of the PEM file; or name the file in";

  test.each<[string, string]>([
    ["users: [{ name: u, user: { token: 12345 } }]", `user "u" has a number for token, ${quoted}`],
    ["users: [{ name: other, user: { token: 12345 } }]", `user "other" has a number for token, ${quoted}`],
    ["users: [{ name: u, user: { token: true } }]", `user "u" has true or false for token, ${quoted}`],
    ["users: [{ name: u, user: { token: [a] } }]", `user "u" has a list for token, ${quoted}`],
    ["users: [{ name: u, user: { password: 12345, username: u } }]", `user "u" has a number for password, ${quoted}`],
    ["users: [{ name: u, user: { tokenFile: { a: b } } }]", `user "u" has a map for tokenFile, ${quoted}`],
    ["users: [{ name: u, user: { client-key-data: '12345' } }]", `user "u" has client-key-data that is not base64, ${pem} client-key`],
    ["users: [{ name: u, user: { client-certificate: 5 } }]", `user "u" has a number for client-certificate, ${quoted}`],
    ["users: [{ name: u, user: { exec: login } }]", 'user "u" has a text for exec, expected fields with values'],
    ["users: [{ name: u, user: { exec: { command: 1 } } }]", `user "u": exec has a number for command, ${quoted}`],
    ["users: [{ name: u, user: { exec: { args: [1] } } }]", `user "u": exec has a list for args, ${list} texts: put each in quotes`],
    ["users: [{ name: u, user: { exec: { args: login } } }]", `user "u": exec has a text for args, ${list} texts: put each in quotes`],
    ["users: [{ name: u, user: { exec: { env: [{ name: A, value: 1 }] } } }]", `user "u": exec has a list for env, ${list} variables`],
    ["users: [{ name: u, user: { exec: { env: { A: b } } } }]", `user "u": exec has a map for env, ${list} variables`],
    ["users: [{ name: u, user: secret }]", 'user "u" has a text for user, expected fields with values'],
    ["users: { u: { token: t } }", "it has a map for users, expected a list of entries with name and user"],
    ["users: [secret]", "it has a text for users[0], expected an entry with name and user"],
    ["users: [{ name: 5 }]", `it has a number for users[0].name, ${quoted}`],
    ["clusters: [{ name: k, cluster: { server: 5 } }]", `cluster "k" has a number for server, ${quoted}`],
    [
      "clusters: [{ name: k, cluster: { server: https://k, insecure-skip-tls-verify: 'true' } }]",
      'cluster "k" has a text for insecure-skip-tls-verify, expected true or false, without quotes',
    ],
    [
      "clusters: [{ name: k, cluster: { server: https://k, tls-server-name: 5 } }]",
      `cluster "k" has a number for tls-server-name, ${quoted}`,
    ],
    [
      "clusters: [{ name: k, cluster: { server: https://k, certificate-authority-data: /etc/ca.crt } }]",
      `cluster "k" has certificate-authority-data that is not base64, ${pem} certificate-authority`,
    ],
    ["contexts: [{ name: c, context: { cluster: 5 } }]", `context "c" has a number for cluster, ${quoted}`],
    ["current-context: 5", `it has a number for current-context, ${quoted}`],
  ])("%s", async (yaml, problem) => {
    const file = await write("config", yaml);

    const message = await problemOf([file]);
    expect(message).toContain(`kubeconfig ${file}: ${problem}`);
    expect(message).not.toMatch(/12345|secret|login/);
  });

  test("a file of several is the one that is named", async () => {
    const good = await writeConfig("good", plain);
    const bad = await writeConfig("bad", { users: { x: { token: 5 } } });

    expect(await problemOf([good, bad])).toBe(`kubeconfig ${bad}: user "x" has a number for token, ${quoted}`);
  });

  test("nothing, which kubectl writes for what is not set, is no wrong type", async () => {
    const yaml = [
      "clusters: [{ name: k, cluster: { server: https://k, certificate-authority-data: null, insecure-skip-tls-verify: null } }]",
      "users: null",
      "contexts: [{ name: c, context: { cluster: k, user: '' } }]",
      "current-context: c",
    ];

    expect((await read([await write("config", yaml.join("\n"))])).server).toBe("https://k");
  });
});

describe("a kubeconfig's certificates and keys are tried before anything happens:", () => {
  const expectedCa = "expected an authority's certificate in PEM, with -----BEGIN CERTIFICATE-----";
  const expectedCertificate = "expected a client's certificate in PEM, with -----BEGIN CERTIFICATE-----";
  const expectedKey = "expected a key in PEM that needs no password, with -----BEGIN PRIVATE KEY-----";
  const broken = certificate.replaceAll("A", "B");
  const locked = createPrivateKey(key).export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "p" });
  const others = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" });
  const certificateData = { "client-certificate-data": base64(certificate) };

  test.each<[string, object, string]>([
    [
      "an authority that is no PEM",
      { "certificate-authority-data": base64("CA") },
      "certificate-authority-data, which holds no certificate",
    ],
    [
      "an authority that is broken",
      { "certificate-authority-data": base64(broken) },
      "certificate-authority-data, which holds no certificate",
    ],
    ["a key for an authority", { "certificate-authority-data": base64(key) }, "certificate-authority-data, which holds no certificate"],
  ])("%s", async (_, cluster, problem) => {
    const file = await writeConfig("config", { ...plain, clusters: { k: { server: "https://k", ...cluster } } });

    expect(await problemOf([file])).toBe(`kubeconfig ${file}: cluster "k" has ${problem}, ${expectedCa}`);
  });

  test.each<[string, object, string]>([
    [
      "a certificate without a key",
      certificateData,
      "client-certificate-data, which has no key beside it, expected its private key in client-key or client-key-data",
    ],
    [
      "a certificate that is none",
      { "client-certificate-data": base64("CERT"), "client-key-data": base64(key) },
      `client-certificate-data, which holds no certificate, ${expectedCertificate}`,
    ],
    [
      "a key that is none",
      { ...certificateData, "client-key-data": base64("KEY") },
      `client-key-data, which holds no private key that can be read, ${expectedKey}`,
    ],
    [
      "a key with a password",
      { ...certificateData, "client-key-data": base64(String(locked)) },
      `client-key-data, which holds no private key that can be read, ${expectedKey}`,
    ],
    [
      "a key of another certificate",
      { ...certificateData, "client-key-data": base64(String(others)) },
      "client-key-data, which is not the key of the client certificate, expected the private key that the certificate was made for",
    ],
  ])("%s", async (_, user, problem) => {
    const file = await writeConfig("config", { ...plain, users: { u: user } });

    expect(await problemOf([file])).toBe(`kubeconfig ${file}: user "u" has ${problem}`);
  });

  test("a file is named with its field, and so is one that is not there", async () => {
    const file = await writeConfig("config", { ...plain, users: { u: { "client-certificate": "c.pem", "client-key": "k.pem" } } });

    expect(await problemOf([file])).toMatch(
      `kubeconfig ${file}: user "u" has client-certificate ${join(folder, "c.pem")}: read credentials: ENOENT`,
    );
    await write("c.pem", certificate);
    await write("k.pem", "KEY");
    expect(await problemOf([file])).toContain(`user "u" has client-key ${join(folder, "k.pem")}, which holds no private key`);
  });

  test("text around certificates, several of them, and other forms of a key are taken", async () => {
    const sec1 = createPrivateKey(key).export({ type: "sec1", format: "pem" });
    const parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
    const user = { ...certificateData, "client-key-data": base64(parameters + String(sec1)) };
    const cluster = { server: "https://k", "certificate-authority-data": base64(`# ours\n${broken}\n${certificate}\n`) };

    expect((await identityOf({ clusters: { k: cluster }, users: { u: user } })).tls).toMatchObject({ certificate });
  });

  test("those of entries that are not in use are not", async () => {
    const users = { u: { token: "t" }, other: { "client-certificate": "absent" } };

    expect((await identityOf({ users })).authorization).toBe("Bearer t");
  });
});

describe("a kubeconfig's credential command", () => {
  /** A command that hands out, as its token, its first variable or argument, or what it is told. */
  async function login(path: string, value: string): Promise<string> {
    const answer = `{"apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%s"}}`;
    const file = await write(path, `#!/bin/sh\nprintf '${answer}' "${value}"\n`);
    await chmod(file, 0o755);
    return file;
  }

  const exec = { apiVersion: "client.authentication.k8s.io/v1", interactiveMode: "Never" };
  const info = '$(printf %s "$KUBERNETES_EXEC_INFO" | base64 | tr -d "[:space:]")';

  async function toldOf(cluster: object, more: object = { provideClusterInfo: true }): Promise<unknown> {
    const command = await login("login", info);
    const { authorization } = await identityOf({ clusters: { k: cluster }, users: { u: { exec: { ...exec, command, ...more } } } });
    return (JSON.parse(Buffer.from(authorization?.slice("Bearer ".length) ?? "", "base64").toString()) as { spec: unknown }).spec;
  }

  test("gets the arguments and variables that it is to get", async () => {
    const command = await login("login", "$1 $VARIABLE");
    const user = { exec: { ...exec, command, args: ["argument"], env: [{ name: "VARIABLE", value: "variable" }] } };

    expect((await identityOf({ users: { u: user } })).authorization).toBe("Bearer argument variable");
  });

  test("may have null for what it does not need, as kubectl writes it", async () => {
    const command = await login("login", "$# arguments");
    const nothing = { args: null, env: null, installHint: null, provideClusterInfo: null };

    expect((await identityOf({ users: { u: { exec: { ...exec, command, ...nothing } } } })).authorization).toBe("Bearer 0 arguments");
  });

  test("with a path is the kubeconfig's own, with none it is found in PATH", async () => {
    await login("bin/login", "beside");

    expect((await identityOf({ users: { u: { exec: { ...exec, command: "bin/login" } } } })).authorization).toBe("Bearer beside");
    const user = { exec: { ...exec, command: "sh", args: [await login("found", "in PATH")] } };
    expect((await identityOf({ users: { u: user } }, "sub/config")).authorization).toBe("Bearer in PATH");
  });

  test("is told nothing of the cluster unless it asks", async () => {
    expect(await toldOf({ server: "https://k" }, {})).toEqual({ interactive: false });
  });

  test("is told of the cluster's address, name and authority, if it asks", async () => {
    const server = "https://k:6443";

    expect(await toldOf({ server })).toEqual({ interactive: false, cluster: { server } });
    expect(
      await toldOf({ server, "tls-server-name": "n", "insecure-skip-tls-verify": true, "certificate-authority-data": base64(certificate) }),
    ).toEqual({
      interactive: false,
      cluster: { server, "tls-server-name": "n", "insecure-skip-tls-verify": true, "certificate-authority-data": base64(certificate) },
    });
  });

  test("is told of the cluster's proxy, if it asks", async () => {
    expect(await toldOf({ server: "https://k", "proxy-url": "http://proxy:3128" })).toMatchObject({
      cluster: { "proxy-url": "http://proxy:3128" },
    });
  });

  test("is told of an authority in a file as of one in data", async () => {
    await write("ca.crt", certificate);

    expect(await toldOf({ server: "https://k", "certificate-authority": "ca.crt" })).toMatchObject({
      cluster: { "certificate-authority-data": base64(certificate) },
    });
  });
});
