import { eventually } from "@virtual-kubelet/testing";
import { fork } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { platform } from "node:process";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Program } from "../support/program.ts";

const main = fileURLToPath(new URL("../../packages/embedded-apiserver/src/program/main.ts", import.meta.url));
/** Programs start slowly on a busy machine. */
const soon = { timeoutMs: 50_000 };

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "vk-apiserver-"))));
afterEach(() => rmSync(folder, { recursive: true }));

const start = (...words: string[]): Program => new Program(words, { cwd: folder, main });

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: { readonly server: string; readonly "certificate-authority-data": string } }];
  readonly users: readonly [{ readonly user: { readonly token: string } }];
  readonly "current-context": string;
}

/** Sends a request as the kubeconfig's user. @returns status and body */
async function ask(kubeconfig: Kubeconfig, path: string): Promise<[number | undefined, unknown]> {
  const { server, "certificate-authority-data": ca } = kubeconfig.clusters[0].cluster;
  const headers = { authorization: `Bearer ${kubeconfig.users[0].user.token}` };
  const request = get(server + path, { ca: Buffer.from(ca, "base64"), headers, agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const chunks = (await response.toArray()) as Buffer[];
  return [response.statusCode, JSON.parse(Buffer.concat(chunks).toString())];
}

test("serves whoever has the kubeconfig, with controllers, until it is told to end", async () => {
  await using program = start("--kubeconfig", "kubeconfig", "--context", "mine");
  await eventually(() => expect(program.stdout).toMatch(/^Kubernetes v\d\S+ at https:\S+\nexport KUBECONFIG="\/.*kubeconfig"\n$/), soon);
  const file = join(folder, "kubeconfig");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const kubeconfig = JSON.parse(readFileSync(file, "utf8")) as Kubeconfig;

  expect(kubeconfig["current-context"]).toBe("mine");
  expect(program.stdout).toContain(kubeconfig.clusters[0].cluster.server);
  expect(await ask(kubeconfig, "/api/v1/namespaces/default")).toEqual([200, expect.objectContaining({ kind: "Namespace" })]);
  // Created by a controller.
  await eventually(
    async () => expect((await ask(kubeconfig, "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"))[0]).toBe(200),
    soon,
  );
  expect(await program.end("SIGTERM")).toBe(0);
  expect(program.stderr).toBe("");
});

test("a server on all addresses has a kubeconfig for this machine and its names in the certificate, and says whether it is ready", async () => {
  await using program = start("--kubeconfig", "kubeconfig", "--host", "0.0.0.0", "--token", "fixed");
  await eventually(() => expect(program.stdout).toContain("export KUBECONFIG"), soon);
  const kubeconfig = JSON.parse(readFileSync(join(folder, "kubeconfig"), "utf8")) as Kubeconfig;
  const { server, "certificate-authority-data": ca } = kubeconfig.clusters[0].cluster;

  expect(server).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  expect(kubeconfig.users[0].user.token).toBe("fixed");
  const { port } = new URL(server);
  const asMachine = get(`https://127.0.0.1:${port}/readyz`, { ca: Buffer.from(ca, "base64"), servername: hostname(), agent: false });
  const [response] = (await once(asMachine, "response")) as [IncomingMessage];
  expect(response.resume().statusCode).toBe(200);
  await using ready = start("ready", "--port", port);
  expect(await ready.exit).toBe(0);

  await program.end("SIGTERM");
  await using gone = start("ready", "--port", port);
  expect(await gone.exit).toBe(1);
  expect(gone.stderr).toContain("ECONNREFUSED");
});

test("a port that is taken, and a kubeconfig that cannot be written, end it with the reason", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  await using busy = start("--kubeconfig", "kubeconfig", "--port", String(port));
  await using nowhere = start("--kubeconfig", "missing/kubeconfig");

  expect(await busy.exit).toBe(1);
  expect(busy.stderr).toMatch(new RegExp(`^embedded-apiserver: .*EADDRINUSE.*:${String(port)}\n$`));
  expect(await nowhere.exit).toBe(1);
  expect(nowhere.stderr).toMatch(/^embedded-apiserver: ENOENT.*missing\/kubeconfig.*\n$/);
  taken.close();
});

test.runIf(platform === "linux")(
  "starts once again in its process, with settings that need less memory and the same arguments",
  async () => {
    await using program = start("--kubeconfig", "kubeconfig", "--context", "a b");
    await eventually(() => expect(program.stdout).toContain("export KUBECONFIG"), soon);

    const words = readFileSync(`/proc/${program.pid}/cmdline`, "utf8").split("\0");
    expect(words.filter((word) => word === "--max-semi-space-size=8")).toHaveLength(1);
    expect(words.slice(words.indexOf(main))).toEqual([main, "--kubeconfig", "kubeconfig", "--context", "a b", ""]);
    expect(readFileSync(`/proc/${program.pid}/environ`, "utf8")).toContain("MALLOC_MMAP_THRESHOLD_=32768");
  },
);

test("serves as the child of a Node.js program that has a channel to it", async () => {
  const child = fork(main, ["--kubeconfig", "kubeconfig"], {
    cwd: folder,
    silent: true,
    execArgv: ["--conditions=@virtual-kubelet/source", "--disable-warning=ExperimentalWarning"],
  });
  const exit = once(child, "exit");

  expect(String(await once(child.stdout ?? child, "data"))).toContain("export KUBECONFIG");
  child.kill("SIGTERM");
  expect(await exit).toEqual([0, null]);
});

test("a flag that is wrong is named, and nothing is started", async () => {
  await using program = start("--kubeconfig", "kubeconfig", "--authorization", "ABAC");

  expect(await program.exit).toBe(2);
  expect(program.stderr).toBe('embedded-apiserver: --authorization "ABAC": expected RBAC or AlwaysAllow\n');
});
