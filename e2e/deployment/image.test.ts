import { eventually } from "@virtual-kubelet/testing";
import { beforeAll, expect, inject, test } from "vitest";
import { EngineApi } from "../docker/support/engine-api.ts";
import { exitCodes } from "virtual-kubelet";
import { programImage } from "./support/program-image.ts";

const image = `${programImage.repository}:${programImage.tag}`;
let engine: EngineApi;

beforeAll(() => {
  engine = new EngineApi(inject("dockerHost"));
});

/** As a kubelet starts it, on a file system that cannot be written to, and without a network. */
const hostConfig = { ReadonlyRootfs: true, NetworkMode: "none", CapDrop: ["ALL"], SecurityOpt: ["no-new-privileges"] };

interface Ended {
  readonly code: number;
  readonly output: string;
}

async function outputOf(id: string): Promise<string> {
  return (await engine.ask("GET", `/containers/${id}/logs?stdout=1&stderr=1`)).body;
}

/** Runs a container to its end. */
async function run(config: object): Promise<Ended> {
  const id = await engine.run({ Image: image, HostConfig: hostConfig, ...config });
  try {
    const { StatusCode: code } = (await engine.json("POST", `/containers/${id}/wait`)) as { StatusCode: number };
    return { code, output: await outputOf(id) };
  } finally {
    await engine.remove(id);
  }
}

test("the image starts the program as a user without rights, has no health check of its own, and says its version", async () => {
  const { Config } = (await engine.json("GET", `/images/${image}/json`)) as { Config: Readonly<Record<string, unknown>> };

  expect(Config).toMatchObject({
    User: "65532:65532",
    Entrypoint: ["node", "/app/node_modules/virtual-kubelet/dist/main.js"],
    Cmd: ["run"],
    Labels: { "org.opencontainers.image.version": "1.2.3", "org.opencontainers.image.licenses": "Apache-2.0" },
  });
  expect(Config["Healthcheck"]).toBeUndefined();
});

test("the program runs on a file system that cannot be written to, with every built-in provider", async () => {
  const { code, output } = await run({ Cmd: ["providers", "-o", "json"] });

  expect(code, output).toBe(0);
  const names = ["docker", "kubernetes", "mock", "nomad", "zun"];
  for (const name of names) {
    const one = await run({ Cmd: ["providers", name] });
    expect([one.code, one.output], name).toEqual([0, expect.not.stringContaining("not installed")]);
  }
});

test("the image contains the packed program alone: no sources, no file of this machine, and nothing that only root can read", async () => {
  const shell = async (script: string): Promise<string> => (await run({ Entrypoint: ["sh", "-c", script], Tty: true })).output.trim();

  expect(await shell("ls /app")).toMatch(/^node_modules\s+package.json$/);
  expect(await shell("find /app/node_modules/virtual-kubelet /app/node_modules/@virtual-kubelet -name src -maxdepth 3")).toBe("");
  expect(await shell("find /app ! -perm -o=r -o -perm -u=s -o ! -user 0")).toBe("");
  expect(await shell("find /app \\( -name '*.json' -o -name '*.yaml' \\) -exec grep -lF .reports {} +")).toBe("");
  expect(Number((await shell("du -sk /app")).split(/\s/)[0])).toBeLessThan(60 * 1_024);
});

test("SIGTERM ends the program at once while it waits for an API server that does not answer", async () => {
  const env = ["KUBERNETES_SERVICE_HOST=203.0.113.99", "KUBERNETES_SERVICE_PORT=443", "KUBELET_PORT=0"];
  const kubeconfig = JSON.stringify({
    "current-context": "a",
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    clusters: [{ name: "a", cluster: { server: "https://203.0.113.99:6443", "insecure-skip-tls-verify": true } }],
    users: [{ name: "a", user: { token: "t" } }],
  });
  const script = `echo '${kubeconfig}' >/tmp/kubeconfig && exec node /app/node_modules/virtual-kubelet/dist/main.js run --provider mock --kubeconfig /tmp/kubeconfig`;
  const id = await engine.run({
    Image: image,
    Env: env,
    Entrypoint: ["sh", "-c", script],
    HostConfig: { ...hostConfig, Tmpfs: { "/tmp": "mode=1777", "/var/lib/virtual-kubelet": "mode=1777" } },
  });
  try {
    await eventually(async () => expect(await outputOf(id)).toContain('"starting"'), { timeoutMs: 60_000 });
    const startedMs = Date.now();

    await engine.json("POST", `/containers/${id}/stop?t=30`);

    const { State } = (await engine.json("GET", `/containers/${id}/json`)) as { State: { ExitCode: number } };
    expect(State.ExitCode, await outputOf(id)).toBe(0);
    expect(Date.now() - startedMs).toBeLessThan(20_000);
  } finally {
    await engine.remove(id);
  }
});

test("SIGTERM ends the program at once while it waits for a file, although a container's first process cannot kill itself", async () => {
  const program = "node /app/node_modules/virtual-kubelet/dist/main.js run --provider mock --kubeconfig /tmp/pipe";
  // The pipe is opened for writing when the program has opened it for reading.
  const script = `mkfifo /tmp/pipe && { (exec 3>/tmp/pipe; echo is read; sleep 600) & exec ${program}; }`;
  const id = await engine.run({
    Image: image,
    Entrypoint: ["sh", "-c", script],
    HostConfig: { ...hostConfig, Tmpfs: { "/tmp": "mode=1777", "/var/lib/virtual-kubelet": "mode=1777" } },
  });
  try {
    await eventually(async () => expect(await outputOf(id)).toContain("is read"), { timeoutMs: 60_000 });

    await engine.json("POST", `/containers/${id}/stop?t=60`);

    const { State } = (await engine.json("GET", `/containers/${id}/json`)) as { State: { ExitCode: number } };
    expect(State.ExitCode, await outputOf(id)).toBe(exitCodes.terminated.code);
  } finally {
    await engine.remove(id);
  }
});

test("without a cluster the program says in one line what is missing", async () => {
  const { code, output } = await run({ Cmd: ["run", "--provider", "mock"] });

  expect(code).toBe(78);
  expect(output).toMatch(/virtual-kubelet: .*kubeconfig/);
});
