import { isInvalidInput } from "@virtual-kubelet/errdefs";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { resolveEndpoint, type EndpointSettings } from "./engine-endpoint.ts";

let home: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "vk-home-"));
});
afterEach(async () => {
  await rm(home, { recursive: true });
});

function resolve(settings: EndpointSettings, sockets: readonly string[] = []): ReturnType<typeof resolveEndpoint> {
  return resolveEndpoint(settings, { homeFolder: home, userId: 1000, exists: (path) => sockets.includes(path) });
}

/** Writes a context of the docker command; `tls`: with certificates. */
async function writeContext(name: string, endpoint: object, { tls = false } = {}): Promise<void> {
  const id = createHash("sha256").update(name).digest("hex");
  const meta = join(home, ".docker/contexts/meta", id);
  await mkdir(meta, { recursive: true });
  await writeFile(join(meta, "meta.json"), JSON.stringify({ Name: name, Endpoints: { docker: endpoint } }));
  if (!tls) return;
  const folder = join(home, ".docker/contexts/tls", id, "docker");
  await mkdir(folder, { recursive: true });
  for (const file of ["ca", "cert", "key"]) await writeFile(join(folder, `${file}.pem`), `the ${file}`);
}

test.for<[host: string, endpoint: object]>([
  ["unix:///run/docker.sock", { kind: "unix", socketPath: "/run/docker.sock" }],
  ["tcp://127.0.0.1", { kind: "tcp", host: "127.0.0.1", port: 2375 }],
  ["tcp://[::1]:99", { kind: "tcp", host: "::1", port: 99 }],
  ["https://engine", { kind: "tcp", host: "engine", port: 2376, tls: {} }],
])("the host %s is where it says", async ([host, endpoint]) => {
  expect(await resolve({ host })).toEqual(endpoint);
});

test("certificates come from their folder, and make TCP secure", async () => {
  await writeFile(join(home, "ca.pem"), "the ca");

  expect(await resolve({ host: "tcp://engine", certPath: home, tlsVerify: true })).toEqual({
    kind: "tcp",
    host: "engine",
    port: 2376,
    tls: { ca: "the ca", cert: undefined, key: undefined, verify: true },
  });
});

test("a context is looked up as the docker command does, the current one by default", async () => {
  await writeContext("lab", { Host: "tcp://lab:2376", SkipTLSVerify: true }, { tls: true });
  await writeContext("here", { Host: "unix:///here.sock" });
  await writeFile(join(home, ".docker/config.json"), JSON.stringify({ currentContext: "here" }));

  expect(await resolve({})).toEqual({ kind: "unix", socketPath: "/here.sock" });
  expect(await resolve({ context: "lab" })).toEqual({
    kind: "tcp",
    host: "lab",
    port: 2376,
    tls: { ca: "the ca", cert: "the cert", key: "the key", verify: false },
  });
  expect(await resolve({ context: "default" }, ["/var/run/docker.sock"])).toEqual({ kind: "unix", socketPath: "/var/run/docker.sock" });
  expect(await resolve({ host: "unix:///mine", context: "lab" })).toEqual({ kind: "unix", socketPath: "/mine" });
});

test("without either the first of the usual sockets that is there is taken", async () => {
  expect(await resolve({}, ["/run/podman/podman.sock", "/run/user/1000/docker.sock"])).toEqual({
    kind: "unix",
    socketPath: "/run/user/1000/docker.sock",
  });
  expect(await resolve({})).toEqual({ kind: "unix", socketPath: "/var/run/docker.sock" });
});

test("a context that is not there, is broken or leads by ssh elsewhere is refused", async () => {
  await writeContext("far", { Host: "ssh://me@far" });
  await writeContext("none", {});
  await writeFile(join(home, ".docker/config.json"), "{nonsense");

  for (const context of ["missing", "far", "none", undefined]) await expect(resolve({ context })).rejects.toSatisfy(isInvalidInput);
  await expect(resolve({ context: "far" })).rejects.toThrow("run virtual-kubelet on the machine that the engine is on");
});
