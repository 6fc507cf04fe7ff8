import { spawn } from "node:child_process";
import { DeadlineExceededError, UnavailableError } from "@virtual-kubelet/errdefs";

/** Options of a call of kubectl. */
export interface KubectlOptions {
  /** Standard input, for `-f -`. */
  readonly stdin?: string | undefined;
  /** Path of a kubeconfig; default: the administrator's. */
  readonly kubeconfig?: string | undefined;
  /** Maximum duration in milliseconds; default: 120,000. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Result of kubectl. An exit code other than 0 is a result, not an error. */
export interface KubectlResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/** The program and its files. */
export interface KubectlProgram {
  /** Path of kubectl. */
  readonly program: string;
  /** Path of the kubeconfig. */
  readonly kubeconfig: string;
  /** Folder for its discovery cache. */
  readonly cacheDirectory: string;
}

/**
 * Runs kubectl without the user's configuration and waits for its end.
 *
 * @throws UnavailableError if it cannot be run; DeadlineExceededError if it takes too long; `signal.reason` when aborted
 */
export async function runKubectl(kubectl: KubectlProgram, args: readonly string[], options: KubectlOptions = {}): Promise<KubectlResult> {
  const timeoutMs = options.timeoutMs ?? 120_000;
  options.signal?.throwIfAborted();
  const child = spawn(
    kubectl.program,
    [`--kubeconfig=${options.kubeconfig ?? kubectl.kubeconfig}`, `--cache-dir=${kubectl.cacheDirectory}`, ...args],
    {
      env: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: kubectl.cacheDirectory, KUBECTL_KUBERC: "false" },
      stdio: ["pipe", "pipe", "pipe"],
      timeout: timeoutMs,
      killSignal: "SIGKILL",
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    },
  );
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  // kubectl may end without reading all of its input.
  child.stdin.on("error", () => undefined);
  child.stdin.end(options.stdin ?? "");
  return await new Promise((resolve, reject) => {
    child.once("error", (cause) =>
      reject(options.signal?.aborted ? options.signal.reason : new UnavailableError(`run ${kubectl.program}`, { cause })),
    );
    child.once("close", (code) => {
      if (code === null)
        reject(new DeadlineExceededError(`kubectl ${args.join(" ")}: killed after ${String(timeoutMs)} ms: ${output.stderr}`));
      else resolve({ ...output, code });
    });
  });
}
