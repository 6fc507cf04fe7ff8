import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { eventually, freePort } from "@virtual-kubelet/testing";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get as httpGet, type IncomingMessage } from "node:http";
import { get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { platform } from "node:process";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Program } from "../support/program.ts";

const main = fileURLToPath(new URL("../../packages/embedded-apiserver/src/program/main.ts", import.meta.url));
const soon = { timeoutMs: 50_000 };

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "vk-assets-"))));
afterEach(() => rmSync(folder, { recursive: true }));

async function writeAssets(): Promise<void> {
  await using program = new Program(["assets", "bin"], { cwd: folder, main });
  expect(await program.exit).toBe(0);
  expect(program.stdout).toMatch(/^export KUBEBUILDER_ASSETS="\/.*\/bin"\n$/);
}

async function end(child: ChildProcess): Promise<number | null> {
  const exit = once(child, "exit") as Promise<[number | null]>;
  child.kill("SIGTERM");
  return (await exit)[0];
}

/** Files as envtest writes them: authorities that this server has never seen. */
function writeCertificates(directory: string) {
  mkdirSync(directory, { recursive: true });
  const servers = createCertificateAuthority("envtest-environment");
  const clients = createCertificateAuthority("envtest-environment");
  const serving = servers.issue({ commonName: "localhost", names: ["localhost", "127.0.0.1"], usages: ["server auth"] });
  writeFileSync(join(directory, "apiserver.crt"), serving.certificate);
  writeFileSync(join(directory, "apiserver.key"), serving.key);
  writeFileSync(join(directory, "clients.crt"), clients.certificate);
  return {
    ca: servers.certificate,
    client: (user: string, group: string) => clients.issue({ commonName: user, organizations: [group], usages: ["client auth"] }),
  };
}

test("envtest's command line starts a bare server that has the given certificates and users", async () => {
  await writeAssets();
  const certificates = join(folder, "certificates");
  const { ca, client } = writeCertificates(certificates);
  const port = await freePort();
  const child = spawn(join(folder, "bin/kube-apiserver"), [
    `--cert-dir=${certificates}`,
    `--client-ca-file=${join(certificates, "clients.crt")}`,
    `--secure-port=${String(port)}`,
    "--authorization-mode=RBAC",
    "--disable-admission-plugins=ServiceAccount",
    "--etcd-servers=http://127.0.0.1:1",
  ]);
  const ask = async (
    path: string,
    { certificate: cert, key }: { certificate: string; key: string },
  ): Promise<[number | undefined, unknown]> => {
    const request = get(`https://127.0.0.1:${String(port)}${path}`, { ca, cert, key, agent: false });
    const [response] = (await once(request, "response")) as [IncomingMessage];
    return [response.statusCode, JSON.parse(Buffer.concat((await response.toArray()) as Buffer[]).toString())];
  };
  const admin = client("admin", "system:masters");
  const settings = (): string => readFileSync(`/proc/${String(child.pid)}/environ`, "utf8");

  await eventually(async () => expect((await ask("/api/v1/namespaces/default", admin))[0]).toBe(200), soon);
  expect(await ask("/api/v1/namespaces/default/serviceaccounts", admin)).toMatchObject([200, { items: [] }]);
  expect(await ask("/api/v1/namespaces/default/services/kubernetes", admin)).toMatchObject([200, { spec: { clusterIP: "10.0.0.1" } }]);
  expect(await ask("/api/v1/nodes", client("dana", "developers"))).toMatchObject([403, { message: expect.stringContaining('"dana"') }]);
  if (platform === "linux") expect(settings()).toContain("MALLOC_MMAP_THRESHOLD_=32768");
  expect(await end(child)).toBe(0);
});

test("etcd answers its health check", async () => {
  await writeAssets();
  const port = await freePort();
  const child = spawn(join(folder, "bin/etcd"), [`--listen-client-urls=http://127.0.0.1:${String(port)}`, `--data-dir=${folder}`]);

  await eventually(async () => {
    const [response] = (await once(httpGet(`http://127.0.0.1:${String(port)}/health`), "response")) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    response.resume();
  }, soon);
  expect(await end(child)).toBe(0);
});

test("both tell their flags, and refuse others as the real ones do", async () => {
  await writeAssets();
  const run = (name: string, ...words: string[]) => spawnSync(join(folder, "bin", name), words, { encoding: "utf8" });

  // envtest looks for these flags at the beginning of a line.
  expect(run("kube-apiserver", "--help").stdout).toMatch(/^ *--client-ca-file\b/m);
  expect(run("kube-apiserver", "--help").stdout).not.toMatch(/^ *--insecure-port\b/m);
  expect(run("etcd", "--help").stdout).toMatch(/^ *--unsafe-no-fsync\b/m);
  expect(run("kube-apiserver", "--nosuch")).toMatchObject({ status: 1, stderr: "Error: unknown flag: --nosuch\n" });
  expect(run("etcd", "--nosuch")).toMatchObject({ status: 1, stderr: "Error: unknown flag: --nosuch\n" });
});

test.each(["0.1", "3"])("a server ends with the process that started it, after %s s", async (seconds) => {
  await writeAssets();
  const port = await freePort();
  // A shell that starts the server and ends, as a killed test does, once before Node.js runs and once after.
  const command = `"$0" --secure-port=${String(port)} >/dev/null & echo $!; sleep ${seconds}`;
  const { stdout } = spawnSync("sh", ["-c", command, join(folder, "bin/kube-apiserver")], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });

  const pid = Number(stdout);
  expect(pid).toBeGreaterThan(1);
  await eventually(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), soon);
});
