import { VirtualClock } from "@virtual-kubelet/clock";
import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { inspect } from "node:util";
import { isInvalidInput } from "@virtual-kubelet/errdefs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Credentials, Identity } from "./credentials.ts";
import { inClusterCredentials, loadCredentials } from "./load-credentials.ts";
import { certificate, key } from "../test-support/api-server-certificate.ts";
import { proxyCertificate } from "../test-support/loopback-proxy.ts";

const idle = new AbortController().signal;
const base64 = (text: string): string => Buffer.from(text).toString("base64");

let folder: string;
let clock: VirtualClock;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kubeconfig-"));
  clock = new VirtualClock();
});

afterEach(() => rm(folder, { recursive: true }));

interface Entry {
  readonly cluster?: Record<string, unknown>;
  readonly user?: Record<string, unknown>;
}

/** Writes a kubeconfig of one context. */
async function write(name: string, entry: Entry = {}, current: string | undefined = name): Promise<string> {
  const file = join(folder, `${name}.yaml`);
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server: `https://${name}.example:6443/`, ...entry.cluster } }],
    users: [{ name, user: entry.user ?? { token: `token-${name}` } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    ...(current && { "current-context": current }),
  };
  await writeFile(file, JSON.stringify(config));
  return file;
}

function load(changes: { kubeconfig?: string; context?: string; env?: Record<string, string> }): Promise<Credentials> {
  return loadCredentials({ env: {}, clock, ...changes });
}

async function identityOf(user: Record<string, unknown>, cluster: Record<string, unknown> = {}): Promise<Identity> {
  return (await load({ kubeconfig: await write("one", { user, cluster }) })).current(idle);
}

describe("which cluster", () => {
  test("a named kubeconfig goes before KUBECONFIG", async () => {
    const credentials = await load({ kubeconfig: await write("named"), env: { KUBECONFIG: await write("environment") } });

    expect(credentials.server).toBe("https://named.example:6443");
  });

  test("the files of KUBECONFIG are merged, the first entry of a name counts", async () => {
    const files = [await write("one"), await write("two")].join(delimiter);

    expect((await load({ env: { KUBECONFIG: files } })).server).toBe("https://one.example:6443");
    expect((await load({ env: { KUBECONFIG: files }, context: "two" })).server).toBe("https://two.example:6443");
  });

  test("a pod's service account goes before the home folder's kubeconfig", async () => {
    const credentials = await load({ env: { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443", HOME: folder } });

    expect(credentials.server).toBe("https://[fd00::1]:6443");
  });
});

describe("where to look", () => {
  test("files of KUBECONFIG that are not there are passed over, and so is nothing between two separators", async () => {
    const KUBECONFIG = [join(folder, "absent"), "", await write("one")].join(delimiter);

    expect((await load({ env: { KUBECONFIG } })).server).toBe("https://one.example:6443");
  });

  test("KUBECONFIG goes before a pod's service account, which a named context passes over", async () => {
    const pod = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" };
    const home = join(folder, "home");
    await mkdir(join(home, ".kube"), { recursive: true });
    await cp(await write("one"), join(home, ".kube", "config"));

    expect((await load({ env: { ...pod, KUBECONFIG: await write("environment") } })).server).toBe("https://environment.example:6443");
    expect((await load({ env: { ...pod, HOME: home } })).server).toBe("https://10.96.0.1:443");
    expect((await load({ env: { ...pod, HOME: home }, context: "one" })).server).toBe("https://one.example:6443");
    expect((await load({ env: { HOME: home } })).server).toBe("https://one.example:6443");
  });

  test("a context may be named for a kubeconfig that is named", async () => {
    const kubeconfig = await write("one", {}, "other");

    expect((await load({ kubeconfig, context: "one" })).server).toBe("https://one.example:6443");
  });

  test("what was looked for in vain is named", async () => {
    const [a, b] = [join(folder, "a"), join(folder, "b")];

    await expect(load({ env: { KUBECONFIG: [a, b].join(delimiter) } })).rejects.toThrow(`KUBECONFIG: none of ${a}, ${b} exists`);
    await expect(load({ env: { HOME: folder } })).rejects.toThrow(`there is none at ${join(folder, ".kube/config")}`);
  });
});

describe("in a pod", () => {
  const inPod = (env: Record<string, string>): Credentials => inClusterCredentials({ env, clock });

  test("the API server is where the environment says, on port 443 unless it says otherwise", () => {
    expect(inPod({ KUBERNETES_SERVICE_HOST: "10.96.0.1" }).server).toBe("https://10.96.0.1:443");
    expect(inPod({ KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "6443" }).server).toBe("https://10.96.0.1:6443");
    expect(inPod({ KUBERNETES_SERVICE_HOST: "fd00::1" }).server).toBe("https://[fd00::1]:443");
  });

  test("only: elsewhere there is no service account", () => {
    expect(() => inPod({})).toThrow("KUBERNETES_SERVICE_HOST is not set");
  });
});

describe("who", () => {
  test("a token", async () => {
    expect(await identityOf({ token: "t" })).toMatchObject({ authorization: "Bearer t" });
  });

  test("a client certificate, from data or from files beside the kubeconfig", async () => {
    await writeFile(join(folder, "client.key"), key);

    const { tls } = await identityOf(
      { "client-certificate-data": base64(certificate), "client-key": "client.key" },
      { "certificate-authority-data": base64(certificate) },
    );

    expect(tls).toMatchObject({ ca: certificate, certificate, key });
  });

  test("a user name and a password", async () => {
    expect(await identityOf({ username: "u", password: "p" })).toMatchObject({ authorization: `Basic ${base64("u:p")}` });
  });

  test("a server name, and a server that is believed unseen", async () => {
    const { tls } = await identityOf({ token: "t" }, { "tls-server-name": "kubernetes", "insecure-skip-tls-verify": true });

    expect(tls).toMatchObject({ serverName: "kubernetes", insecureSkipVerify: true });
  });
});

describe("a token file", () => {
  test("is read again after a minute, and at once when the server refuses the token", async () => {
    const token = join(folder, "token");
    await writeFile(token, "first\n");
    const credentials = await load({ kubeconfig: await write("one", { user: { tokenFile: "token" } }) });
    const first = await credentials.current(idle);
    expect(first.authorization).toBe("Bearer first");

    await writeFile(token, "second");
    expect((await credentials.current(idle)).authorization).toBe("Bearer first");
    await clock.advance(60_000);
    const second = await credentials.current(idle);
    expect(second.authorization).toBe("Bearer second");
    expect(second.tls).toBe(first.tls);

    await writeFile(token, "third");
    await credentials.refresh(idle);
    expect((await credentials.current(idle)).authorization).toBe("Bearer third");
  });

  test("that is gone for a moment leaves the token as it was", async () => {
    const token = join(folder, "token");
    await writeFile(token, "first");
    const credentials = await load({ kubeconfig: await write("one", { user: { tokenFile: "token" } }) });
    await credentials.current(idle);

    await rm(token);
    await clock.advance(60_000);

    expect((await credentials.current(idle)).authorization).toBe("Bearer first");
  });

  test("that was never there is named", async () => {
    const credentials = await load({ kubeconfig: await write("one", { user: { tokenFile: "token" } }) });

    await expect(credentials.current(idle)).rejects.toThrow(join(folder, "token"));
  });
});

test("a changed authority means other connections", async () => {
  const ca = join(folder, "ca.crt");
  await writeFile(ca, certificate);
  const credentials = await load({ kubeconfig: await write("one", { cluster: { "certificate-authority": "ca.crt" } }) });
  const before = await credentials.current(idle);

  await writeFile(ca, proxyCertificate);
  await clock.advance(60_000);

  const after = await credentials.current(idle);
  expect(after.tls).not.toBe(before.tls);
  expect(after.tls.ca).toBe(proxyCertificate);
});

describe("a credential command", () => {
  const version = "client.authentication.k8s.io/v1";

  /** Writes a command that counts its runs and prints what it is told. */
  async function command(status: string, apiVersion: string = version): Promise<Record<string, unknown>> {
    const file = join(folder, "login");
    const answer = JSON.stringify({ apiVersion, kind: "ExecCredential", status: "STATUS" }).replace('"STATUS"', status);
    await writeFile(file, `#!/bin/sh\necho x >> "${folder}/runs"\nN=$(wc -l < "${folder}/runs" | tr -d ' ')\ncat <<END\n${answer}\nEND\n`);
    await chmod(file, 0o755);
    return { apiVersion: version, command: file, interactiveMode: "Never", installHint: "install it" };
  }

  test("is run once, again when its token expires, and when the server refuses it", async () => {
    const expires = new Date(clock.now() + 600_000).toISOString();
    const exec = await command(`{"token":"run-$N","expirationTimestamp":"${expires}"}`);
    const credentials = await load({ kubeconfig: await write("one", { user: { exec } }), env: { PATH: process.env["PATH"] ?? "" } });

    const [a, b] = await Promise.all([credentials.current(idle), credentials.current(idle)]);
    expect([a?.authorization, b?.authorization]).toEqual(["Bearer run-1", "Bearer run-1"]);
    await clock.advance(545_000);
    expect((await credentials.current(idle)).authorization).toBe("Bearer run-2");
    await credentials.refresh(idle);
    expect((await credentials.current(idle)).authorization).toMatch(/^Bearer run-[34]$/);
  });

  test("may hand out a client certificate", async () => {
    const exec = await command('{"clientCertificateData":"CERT","clientKeyData":"KEY"}');
    const credentials = await load({ kubeconfig: await write("one", { user: { exec } }), env: { PATH: process.env["PATH"] ?? "" } });

    expect((await credentials.current(idle)).tls).toMatchObject({ certificate: "CERT", key: "KEY" });
  });

  test("keeps running for the others when who asked first gives up", async () => {
    const exec = await command('{"token":"run-$N"}');
    const credentials = await load({ kubeconfig: await write("one", { user: { exec } }), env: { PATH: process.env["PATH"] ?? "" } });
    const abort = new AbortController();

    const first = credentials.current(abort.signal);
    const second = credentials.current(idle);
    abort.abort(new Error("enough"));

    await expect(first).rejects.toThrow("enough");
    expect((await second).authorization).toBe("Bearer run-1");
  });

  test("beside the kubeconfig is found there, and is told of the cluster if it asks", async () => {
    const exec = {
      ...(await command('{"token":"$(echo $KUBERNETES_EXEC_INFO | base64 | tr -d [:space:])"}')),
      command: "./login",
      provideClusterInfo: true,
    };
    const cluster = { "certificate-authority-data": base64(certificate) };
    const credentials = await load({
      kubeconfig: await write("one", { user: { exec }, cluster }),
      env: { PATH: process.env["PATH"] ?? "" },
    });

    const { authorization } = await credentials.current(idle);
    const info: unknown = JSON.parse(Buffer.from(authorization?.slice("Bearer ".length) ?? "", "base64").toString());
    expect(info).toMatchObject({
      apiVersion: version,
      kind: "ExecCredential",
      spec: { interactive: false, cluster: { server: "https://one.example:6443", "certificate-authority-data": base64(certificate) } },
    });
  });

  test("that must ask somebody is refused before it is run", async () => {
    const exec = { ...(await command("{}")), interactiveMode: "Always" };

    await expect(load({ kubeconfig: await write("one", { user: { exec } }) })).rejects.toThrow("needs a terminal");
  });

  test("that is missing is named with the hint how to get it", async () => {
    const exec = { apiVersion: version, command: join(folder, "absent"), installHint: "install it from there" };
    const credentials = await load({ kubeconfig: await write("one", { user: { exec } }) });

    await expect(credentials.current(idle)).rejects.toThrow(
      `credential command ${join(folder, "absent")}: not found; install it from there`,
    );
  });

  test("that answers with neither is refused, and what it printed is not shown", async () => {
    const exec = await command('{"secret":"hidden"}');
    const credentials = await load({ kubeconfig: await write("one", { user: { exec } }), env: { PATH: process.env["PATH"] ?? "" } });

    const failure: unknown = await credentials.current(idle).catch((error: unknown) => error);
    expect(String(failure)).toContain("neither a token nor a client certificate");
    expect(String(failure)).not.toContain("hidden");
  });

  test("of an unknown version is refused before it is run", async () => {
    const exec = { ...(await command("{}")), apiVersion: "client.authentication.k8s.io/v1alpha1" };

    await expect(load({ kubeconfig: await write("one", { user: { exec } }) })).rejects.toThrow(
      'user.exec.apiVersion: "client.authentication.k8s.io/v1alpha1" is not known',
    );
  });
});

test("a kubeconfig that is no YAML is named, and nothing of it is shown", async () => {
  const file = join(folder, "broken.yaml");
  await writeFile(file, 'users:\n- name: "one\n  token: hidden\n');

  const failure: unknown = await load({ kubeconfig: file }).catch((error: unknown) => error);
  expect(isInvalidInput(failure)).toBe(true);
  expect(String(failure)).toContain(file);
  expect(inspect(failure, { depth: 9 })).not.toContain("hidden");
});

test("in a pod the environment's proxy leads to the cluster, unless NO_PROXY lists it", () => {
  const env = { KUBERNETES_SERVICE_HOST: "10.96.0.1", HTTPS_PROXY: "http://proxy:3128" };

  expect(inClusterCredentials({ env, clock }).proxy).toBe("http://proxy:3128/");
  expect(inClusterCredentials({ env: { ...env, NO_PROXY: "10.96.0.0/12" }, clock }).proxy).toBeUndefined();
});

describe("bad input costs one error that names it", () => {
  test.each<[string, () => Promise<unknown>, string]>([
    ["a file that is not there", () => load({ kubeconfig: join(folder, "absent") }), "--kubeconfig: there is no file"],
    ["a KUBECONFIG of absent files", () => load({ env: { KUBECONFIG: join(folder, "absent") } }), "KUBECONFIG: none of"],
    ["nothing at all", () => load({ env: { HOME: folder } }), "no cluster to talk to"],
    [
      "an unknown context",
      async () => load({ kubeconfig: await write("one"), context: "two" }),
      'there is no context "two", expected one of "one"',
    ],
    ["no current context", async () => load({ kubeconfig: await write("one", {}, "") }), "current-context is not set"],
    [
      "a server that is no URL",
      async () => load({ kubeconfig: await write("one", { cluster: { server: "localhost:8080" } }) }),
      "expected a URL such as",
    ],
    [
      "a proxy of no known kind",
      async () => load({ kubeconfig: await write("one", { cluster: { "proxy-url": "ftp://p" } }) }),
      "proxy-url",
    ],
    [
      "an environment's proxy that is none",
      async () => load({ kubeconfig: await write("one"), env: { HTTPS_PROXY: "ftp://p" } }),
      'HTTPS_PROXY is "ftp://p", expected a URL',
    ],
    [
      "an auth-provider",
      async () => load({ kubeconfig: await write("one", { user: { "auth-provider": { name: "gcp" } } }) }),
      "auth-provider",
    ],
    [
      "an impersonation of nobody",
      async () => load({ kubeconfig: await write("one", { user: { token: "t", "as-uid": "17" } }) }),
      "has as-uid without as: name the user to act as",
    ],
    [
      "a cluster without a server",
      async () => load({ kubeconfig: await write("one", { cluster: { server: "" } }) }),
      "clusters[0].cluster.server is missing",
    ],
  ])("%s", async (_what, act, message) => {
    const failure: unknown = await act().catch((error: unknown) => error);

    expect(isInvalidInput(failure)).toBe(true);
    expect(String(failure)).toContain(message);
  });
});
