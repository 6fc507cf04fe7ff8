import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { freePort, startReaper } from "@virtual-kubelet/testing";
import { FakeCloud } from "../fake/fake-cloud.ts";

const folder = dirname(fileURLToPath(import.meta.url));
const startTimeoutMs = 180_000;

/** Zun's real API in its own process, in a cloud with fake Keystone and Neutron. */
export interface RealZun extends AsyncDisposable {
  readonly cloud: FakeCloud;
  /** URL of the API, including the version. */
  readonly url: string;
}

/** Path of the Python installation with Zun. @throws Error if the level is not prepared */
function zunPython(): string {
  const python = process.env["ZUN_API_PYTHON"];
  if (!python)
    throw new Error("Zun's API is not installed: run make e2e-zun, which installs it, or set ZUN_API_PYTHON to a Python that has it");
  return python;
}

/** Starts Zun's API. */
export async function startRealZun(): Promise<RealZun> {
  await using disposables = new AsyncDisposableStack();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/v1`;
  const cloud = disposables.use(await FakeCloud.start({ containerUrl: url }));
  const reaper = disposables.use(startReaper());
  const directory = mkdtempSync(join(tmpdir(), "vk-zun-api-"));
  disposables.defer(() => rmSync(directory, { recursive: true, force: true }));
  const keystone = `${cloud.keystone.urls.identity}/v3`;
  const child = spawn(zunPython(), [join(folder, "zun_api.py"), directory, String(port), keystone], { stdio: ["ignore", "pipe", "pipe"] });
  if (child.pid !== undefined) reaper.watch(child.pid);
  disposables.defer(async () => {
    const ended = child.exitCode === null ? once(child, "exit") : undefined;
    child.kill("SIGKILL");
    await ended;
  });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors = (errors + chunk.toString("utf8")).slice(-4000)));
  const listening = Promise.withResolvers<void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (line === "listening") listening.resolve();
  });
  child.once("exit", (code) => listening.reject(new Error(`Zun's API ended with ${code}: ${errors}`)));
  const timer = setTimeout(
    () => listening.reject(new Error(`Zun's API did not listen within ${startTimeoutMs} ms: ${errors}`)),
    startTimeoutMs,
  );
  try {
    await listening.promise;
  } finally {
    clearTimeout(timer);
  }
  const owned = disposables.move();
  return { cloud, url, [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose]() };
}

/** The schemas in Zun's code, as JSON. */
export function exportSchemas(): unknown {
  const { status, stdout, stderr } = spawnSync(zunPython(), ["-W", "ignore", join(folder, "export_schemas.py")], { encoding: "utf8" });
  if (status !== 0) throw new Error(`export Zun's schemas: ${stderr}`);
  return JSON.parse(stdout);
}
