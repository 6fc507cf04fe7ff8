import { eventually } from "@virtual-kubelet/testing";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { get } from "node:https";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { EngineApi } from "../docker/support/engine-api.ts";
import { findKubectl, Kubectl } from "../support/kubectl.ts";
import { apiServerImage } from "./support/program-image.ts";

const main = "/app/node_modules/@virtual-kubelet/embedded-apiserver/dist/program/main.js";
const soon = { timeoutMs: 60_000 };
const safe = { CapDrop: ["ALL"], SecurityOpt: ["no-new-privileges"] };

let engine: EngineApi;
let folder: string;
let running: string[];

beforeEach(async () => {
  engine = new EngineApi(inject("dockerHost"));
  folder = await mkdtemp(join(tmpdir(), "vk-apiserver-image-"));
  running = [];
});

afterEach(async () => {
  for (const id of running) await engine.remove(id);
  await rm(folder, { recursive: true });
});

interface Inspected {
  readonly State: { readonly ExitCode: number; readonly Health?: { readonly Status: string } };
  readonly NetworkSettings: {
    readonly IPAddress: string;
    readonly Ports: Readonly<Record<string, readonly { readonly HostPort: string }[]>>;
  };
}

async function inspect(id: string): Promise<Inspected> {
  return (await engine.json("GET", `/containers/${id}/json`)) as Inspected;
}

async function outputOf(id: string): Promise<string> {
  return (await engine.ask("GET", `/containers/${id}/logs?stdout=1&stderr=1`)).body;
}

/** Starts a container and waits for the line that says that it serves. */
async function start(config: object = {}): Promise<string> {
  const id = await engine.run({ Image: apiServerImage, HostConfig: safe, ...config });
  running.push(id);
  await eventually(async () => expect(await outputOf(id)).toMatch(/Kubernetes v1\.\d+\S* at https:/), soon);
  return id;
}

/** Kubeconfig of a container, as testcontainers copies it: a file of a tar archive. */
async function kubeconfigOf(id: string): Promise<string> {
  const { status, body } = await engine.ask("GET", `/containers/${id}/archive?path=/kubeconfig/config`);
  expect(status, body).toBe(200);
  return body.slice(body.indexOf("{"), body.lastIndexOf("}") + 1);
}

async function kubectlWith(kubeconfig: string): Promise<Kubectl> {
  await writeFile(join(folder, "kubeconfig"), kubeconfig);
  return new Kubectl((await findKubectl()).program, folder);
}

test("the image runs as a user without rights, serves at port 6443, has a health check and says its version", async () => {
  const { Config } = (await engine.json("GET", `/images/${apiServerImage}/json`)) as { Config: Readonly<Record<string, unknown>> };

  expect(Config).toMatchObject({
    User: "65532:65532",
    Entrypoint: ["node", main, "--host=0.0.0.0", "--port=6443", "--kubeconfig=/kubeconfig/config"],
    ExposedPorts: { "6443/tcp": {} },
    Healthcheck: { Test: ["CMD", "node", main, "ready", "--port=6443"] },
    Labels: { "org.opencontainers.image.version": "1.2.3", "org.opencontainers.image.licenses": "Apache-2.0" },
  });
});

test("kubectl reaches a container at its published port and at its own address, until the container is stopped", async () => {
  const id = await start({ HostConfig: { ...safe, PortBindings: { "6443/tcp": [{ HostIp: "127.0.0.1", HostPort: "" }] } } });
  const { NetworkSettings: network } = await inspect(id);
  const kubectl = await kubectlWith(await kubeconfigOf(id));

  for (const server of [`https://127.0.0.1:${network.Ports["6443/tcp"]?.[0]?.HostPort}`, `https://${network.IPAddress}:6443`])
    expect(await kubectl.print(`get namespace default -o name --server ${server}`)).toBe("namespace/default\n");
  await eventually(async () => expect((await inspect(id)).State.Health?.Status).toBe("healthy"), soon);

  await engine.json("POST", `/containers/${id}/stop?t=30`);

  expect((await inspect(id)).State.ExitCode, await outputOf(id)).toBe(0);
});

test("on a read-only file system the kubeconfig is written to a mounted folder, as the user who mounts it", async () => {
  await chmod(folder, 0o777);
  const user = 12_345;
  const id = await start({
    User: `${String(user)}:${String(user)}`,
    Cmd: ["--advertised-url=https://api:6443", "--no-controllers"],
    HostConfig: { ...safe, ReadonlyRootfs: true, Binds: [`${folder}:/kubeconfig`] },
  });

  const file = join(folder, "config");
  expect(await stat(file)).toMatchObject({ uid: user, mode: 0o100600 });
  expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ clusters: [{ cluster: { server: "https://api:6443" } }] });
  expect(await outputOf(id)).not.toContain("Error");
});

test("the environment gives the token and names of the certificate, for runners that pass no arguments", async () => {
  const id = await start({ Env: ["EMBEDDED_APISERVER_TOKEN=secret", "EMBEDDED_APISERVER_CERTIFICATE_HOSTS=api,docker"] });
  const { NetworkSettings: network } = await inspect(id);
  const kubeconfig = JSON.parse(await kubeconfigOf(id)) as { clusters: [{ cluster: { "certificate-authority-data": string } }] };
  const ca = Buffer.from(kubeconfig.clusters[0].cluster["certificate-authority-data"], "base64");
  const statusAs = async (servername: string, token: string): Promise<number | undefined> => {
    const options = { host: network.IPAddress, port: 6443, path: "/api/v1/namespaces", servername, ca, agent: false };
    const [response] = (await once(get({ ...options, headers: { authorization: `Bearer ${token}` } }), "response")) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };

  expect(await statusAs("docker", "secret")).toBe(200);
  expect(await statusAs("api", "other")).toBe(401);
  await expect(statusAs("elsewhere", "secret")).rejects.toThrow("does not match certificate's altnames");
});
