import { systemClock } from "@virtual-kubelet/clock";
import { eventually, startProcess, startReaper, type ControlPlaneAccess } from "@virtual-kubelet/testing";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const main = join(import.meta.dirname, "../../packages/cli/src/main.ts");

/** What a node needs of its cluster: the file with its credentials, and kubectl as the administrator. */
export interface NodeCluster {
  readonly kubeconfig: Pick<ControlPlaneAccess["kubeconfig"], "path">;
  kubectl(args: readonly string[]): Promise<{ readonly code: number | null; readonly stderr: string }>;
}

/** Options of {@link startProgramNode}. */
export interface ProgramNodeOptions {
  readonly controlPlane: NodeCluster;
  readonly name: string;
  readonly provider: string;
  readonly providerConfig: object;
  /** Address at which the API server reaches the node. */
  readonly address: string;
  /** Port of the kubelet's API. */
  readonly kubeletPort: number;
  /** Folder for the configuration and the program's log. */
  readonly directory: string;
  /** Folder for the program's own files. */
  readonly home: string;
  /** Key of the node's taint, with the effect `NoSchedule`. Default: the node has no taint. */
  readonly taint?: string | undefined;
  /** Further words of the command line. */
  readonly words?: readonly string[] | undefined;
  /** Further environment variables. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** Starts the program as a node; returns when the node is Ready. Disposing stops it. */
export async function startProgramNode(options: ProgramNodeOptions): Promise<AsyncDisposable & { readonly pid: number }> {
  const { controlPlane, name, provider, providerConfig, address, kubeletPort, directory, home, taint, words = [], env = {} } = options;
  await using cleanup = new AsyncDisposableStack();
  const configFile = join(directory, `${name}.json`);
  writeFileSync(configFile, JSON.stringify(providerConfig));
  const reaper = cleanup.use(startReaper());
  const program = cleanup.use(
    await startProcess(
      {
        name: "virtual-kubelet",
        program: process.execPath,
        args: [
          "--conditions=@virtual-kubelet/source",
          "--disable-warning=ExperimentalWarning",
          main,
          "run",
          ...["--provider", provider, "--provider-config", configFile],
          ...["--kubeconfig", controlPlane.kubeconfig.path, "--nodename", name],
          ...["--node-ip", address, "--kubelet-port", String(kubeletPort)],
          ...(taint === undefined ? ["--disable-taint"] : ["--taint-key", taint]),
          ...["--health-addr", "127.0.0.1:0", ...words],
        ],
        environment: { HOME: home, STATE_DIRECTORY: join(home, "state"), PATH: process.env["PATH"] ?? "", ...env },
        logFile: join(directory, `${name}.log`),
      },
      { reaper, clock: systemClock },
    ),
  );
  await eventually(
    async () => {
      const { code, stderr } = await controlPlane.kubectl(["wait", "--for=condition=Ready", `node/${name}`, "--timeout=1s"]);
      if (code !== 0) throw new Error(stderr.trim());
    },
    { timeoutMs: 120_000, describe: `the node to be Ready; its log is ${program.logFile}` },
  );
  const all = cleanup.move();
  return { pid: program.pid, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
