import { systemClock } from "@virtual-kubelet/clock";
import { eventually, startProcess, startReaper, type ControlPlaneAccess } from "@virtual-kubelet/testing";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { controlGroupOf } from "../docker/support/control-groups.ts";
import { unmountAll } from "../docker/support/mounts.ts";

const main = join(import.meta.dirname, "../../packages/cli/src/main.ts");

/** Options of {@link startNode}. */
export interface NodeOptions {
  readonly controlPlane: ControlPlaneAccess;
  readonly dockerHost: string;
  /** Address at which the API server reaches the node. */
  readonly address: string;
  /** Folder for the program's log. */
  readonly directory: string;
  /** Policy for pods, as in the provider's configuration; default: the provider's default. */
  readonly policy?: object | undefined;
}

/** Starts the program with the Docker provider; returns when its node is Ready. */
export async function startNode({ controlPlane, dockerHost, address, directory, policy }: NodeOptions): Promise<AsyncDisposable> {
  await using cleanup = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), "vk-node-"));
  cleanup.defer(async () => {
    // Pods left over from tests still have their in-memory volumes mounted.
    unmountAll(home);
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  });
  const config = {
    host: dockerHost,
    sandboxImage: "registry.k8s.io/pause:3.10.2",
    rootDirectory: join(home, "pods"),
    log: { folder: join(home, "logs") },
    cgroupParent: controlGroupOf(dockerHost),
    ...(policy && { policy }),
  };
  const configFile = join(directory, "docker.json");
  writeFileSync(configFile, JSON.stringify(config));
  const reaper = cleanup.use(startReaper());
  cleanup.use(
    await startProcess(
      {
        name: "virtual-kubelet",
        program: process.execPath,
        args: [
          "--conditions=@virtual-kubelet/source",
          "--disable-warning=ExperimentalWarning",
          main,
          "run",
          ...["--provider", "docker", "--provider-config", configFile],
          ...["--kubeconfig", controlPlane.kubeconfig.path, "--nodename", "docker", "--node-ip", address],
          ...["--disable-taint", "--health-addr", "127.0.0.1:0", "--log-level", "debug"],
        ],
        environment: { HOME: home, STATE_DIRECTORY: join(home, "state"), PATH: process.env["PATH"] ?? "" },
        logFile: join(directory, "virtual-kubelet.log"),
      },
      { reaper, clock: systemClock },
    ),
  );
  await eventually(
    async () => {
      const { code, stderr } = await controlPlane.kubectl(["wait", "--for=condition=Ready", "node/docker", "--timeout=1s"]);
      if (code !== 0) throw new Error(stderr.trim());
    },
    { timeoutMs: 60_000, describe: `the node to be Ready; its log is in ${directory}` },
  );
  return cleanup.move();
}
