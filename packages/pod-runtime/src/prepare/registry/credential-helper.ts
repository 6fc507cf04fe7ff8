import { spawn } from "node:child_process";
import type { Clock, RegistryCredentials } from "@virtual-kubelet/core";
import { DeadlineExceededError, InvalidInputError, NotFoundError, UnavailableError } from "@virtual-kubelet/errdefs";

/** Some helpers query a cloud, or wait for user input. */
const timeoutMs = 30_000;
const maxOutputBytes = 64 * 1024;

/**
 * Gets registry credentials from a docker credential helper. Source: https://github.com/docker/docker-credential-helpers, the command
 * `get`.
 *
 * @param program - such as `docker-credential-pass`
 * @param server - the helper's key: a host with its port, or `https://index.docker.io/v1/`
 * @throws NotFoundError if it has none; DeadlineExceededError after 30 s; UnavailableError if it cannot be run or fails. Errors do not
 * contain its output
 */
export async function askCredentialHelper(
  program: string,
  server: string,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<RegistryCredentials> {
  const timeout = new AbortController();
  using _timer = clock.setTimer(timeoutMs, () =>
    timeout.abort(new DeadlineExceededError(`run ${program} get: it did not end within ${timeoutMs} ms`)),
  );
  const output = await run(program, server, AbortSignal.any([signal, timeout.signal]));
  return readAnswer(output, program);
}

/** @returns its standard output */
function run(program: string, input: string, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = spawn(program, ["get"], { stdio: ["pipe", "pipe", "ignore"] });
  const chunks: Buffer[] = [];
  let lengthBytes = 0;
  const onAbort = (): void => {
    reject(signal.reason);
    child.kill("SIGKILL");
  };
  signal.addEventListener("abort", onAbort, { once: true });
  child.stdout.on("data", (chunk: Buffer) => {
    lengthBytes += chunk.length;
    if (lengthBytes <= maxOutputBytes) chunks.push(chunk);
    else child.kill("SIGKILL");
  });
  child.on("error", ({ code }: NodeJS.ErrnoException) =>
    reject(
      new UnavailableError(`run ${program} get: ${code === "ENOENT" ? "the program is not on the PATH" : `it did not start (${code})`}`),
    ),
  );
  child.on("close", (code) => {
    signal.removeEventListener("abort", onAbort);
    const output = Buffer.concat(chunks).toString("utf8");
    if (code === 0) resolve(output);
    else if (output.startsWith("credentials not found")) reject(new NotFoundError(`run ${program} get: it has no credentials`));
    else reject(new UnavailableError(`run ${program} get: it ended with ${code ?? "a signal"}`));
  });
  // A helper may ignore its input.
  child.stdin.on("error", () => {});
  child.stdin.end(`${input}\n`);
  return promise;
}

function readAnswer(output: string, program: string): RegistryCredentials {
  const { Username: username, Secret: secret } = parse(output);
  if (typeof username !== "string" || typeof secret !== "string") {
    throw new InvalidInputError(`run ${program} get: expected a JSON object with Username and Secret`);
  }
  return username === "<token>" ? { identityToken: secret } : { username, password: secret };
}

function parse(output: string): { readonly Username?: unknown; readonly Secret?: unknown } {
  try {
    return (JSON.parse(output) as object | null) ?? {};
  } catch {
    return {};
  }
}
