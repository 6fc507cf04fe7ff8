import { systemClock } from "@virtual-kubelet/clock";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually, freePort, logTail, startProcess, startReaper } from "@virtual-kubelet/testing";

/** User of the registry. The password is not secret. */
export const registryUser = { username: "puller", password: "registry-password" } as const;

/** bcrypt hash of the password, the only kind that Debian's registry accepts. */
const passwordHash = "$2b$04$T8HozaWMyYJgSchAEbEcJO8zWS3CU8FmcBMMp4K2UQ1Di2qOS9.eG";

/** An image registry on loopback, which engines access over plain HTTP. */
export interface LocalRegistry extends AsyncDisposable {
  /** Such as `127.0.0.1:5000`. */
  readonly host: string;
}

/** Starts Debian's docker-registry, which admits only {@link registryUser}. */
export async function startRegistry(): Promise<LocalRegistry> {
  await using cleanup = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), "vk-registry-"));
  cleanup.defer(() => rm(directory, { recursive: true, force: true }));
  const path = (name: string): string => join(directory, name);
  await mkdir(path("data"));
  await writeFile(path("users"), `${registryUser.username}:${passwordHash}\n`);
  const host = `127.0.0.1:${await freePort()}`;
  const config = {
    version: "0.1",
    log: { level: "warn" },
    storage: { filesystem: { rootdirectory: path("data") }, delete: { enabled: true } },
    http: { addr: host, secret: "tests" },
    auth: { htpasswd: { realm: "tests", path: path("users") } },
  };
  await writeFile(path("config.yml"), JSON.stringify(config));
  const reaper = cleanup.use(startReaper());
  const logFile = path("log");
  const command = {
    name: "docker-registry",
    program: "docker-registry",
    args: ["serve", path("config.yml")],
    environment: process.env,
    logFile,
  };
  const registry = cleanup.use(await startProcess(command, { reaper, clock: systemClock }));
  await eventually(
    async (signal) => {
      if (registry.exit !== undefined) throw new Error(`docker-registry has ended:\n${await logTail(logFile)}`);
      const { status } = await fetch(`http://${host}/v2/`, { signal });
      if (status !== 401) throw new Error(`the registry answers with ${status}`);
    },
    { timeoutMs: 120_000, describe: "the registry to answer" },
  );
  const disposable = cleanup.move();
  return { host, [Symbol.asyncDispose]: () => disposable.disposeAsync() };
}
