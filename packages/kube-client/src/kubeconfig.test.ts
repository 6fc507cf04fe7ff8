import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { inspect } from "node:util";
import { isInvalidInput } from "@virtual-kubelet/errdefs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Identity } from "./credentials.ts";
import { FakeClock } from "./fake-clock.ts";
import { readKubeconfig } from "./kubeconfig.ts";

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
  return readKubeconfig({ files, context, env: { PATH: process.env["PATH"] }, clock: new FakeClock() });
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
    const root = await write("elsewhere/client.crt", "CERT");
    await write("b/client.key", "KEY");
    const files = [
      await writeConfig("a/config", {
        ...plain,
        users: {},
        clusters: { k: { server: "https://k", "certificate-authority": "pki/ca.crt" } },
      }),
      await writeConfig("b/config", { users: { u: { "client-certificate": root, "client-key": "client.key" } } }),
    ];
    await write("a/pki/ca.crt", "CA");

    expect((await (await read(files)).current(idle)).tls).toMatchObject({ ca: "CA", certificate: "CERT", key: "KEY" });
  });
});

describe("a kubeconfig's user", () => {
  test.each<[string, object, object]>([
    [
      "data go before files",
      { "client-certificate-data": base64("DATA"), "client-certificate": "absent" },
      { tls: { certificate: "DATA" } },
    ],
    ["a key may be data, too", { "client-key-data": base64("KEY") }, { tls: { key: "KEY" } }],
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

    expect((await readKubeconfig({ files, env, clock: new FakeClock() })).proxy).toBe("http://user:password@proxy:3128/");
  });

  test("is behind the environment's proxy if it names none", async () => {
    const files = [await writeConfig("config", { ...plain, clusters: { k: { server: "https://k", "proxy-url": "" } } })];
    const proxyOf = async (env: Record<string, string>): Promise<string | undefined> =>
      (await readKubeconfig({ files, env, clock: new FakeClock() })).proxy;

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
      "certificate-authority-data": base64("CA"),
      "tls-server-name": "n",
      "insecure-skip-tls-verify": true,
    };

    expect((await identityOf({ clusters: { k: cluster } })).tls).toMatchObject({ ca: "CA", serverName: "n", insecureSkipVerify: true });
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
    ["text", "it is empty"],
  ])("there is nothing but %j in it", async (text, problem) => {
    const file = await write("config", text);

    expect(await problemOf([file])).toContain(`kubeconfig ${file}: ${problem}`);
  });

  test("it is not there", async () => {
    const file = join(folder, "absent");

    expect(await problemOf([file])).toContain(`kubeconfig ${file}: ENOENT`);
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
      await toldOf({ server, "tls-server-name": "n", "insecure-skip-tls-verify": true, "certificate-authority-data": base64("CA") }),
    ).toEqual({
      interactive: false,
      cluster: { server, "tls-server-name": "n", "insecure-skip-tls-verify": true, "certificate-authority-data": base64("CA") },
    });
  });

  test("is told of the cluster's proxy, if it asks", async () => {
    expect(await toldOf({ server: "https://k", "proxy-url": "http://proxy:3128" })).toMatchObject({
      cluster: { "proxy-url": "http://proxy:3128" },
    });
  });

  test("is told of an authority in a file as of one in data", async () => {
    await write("ca.crt", "CA");

    expect(await toldOf({ server: "https://k", "certificate-authority": "ca.crt" })).toMatchObject({
      cluster: { "certificate-authority-data": base64("CA") },
    });
  });
});
