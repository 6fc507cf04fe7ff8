import type { Clock } from "@virtual-kubelet/clock";
import { execFile } from "node:child_process";
import { InvalidInputError, messageOf, UnauthorizedError } from "@virtual-kubelet/errdefs";

const timeoutMs = 60_000;
const maxOutputBytes = 1024 * 1024;
/** Time before its expiry at which a credential is renewed. */
const marginMs = 60_000;

/** A command that outputs credentials, from a kubeconfig's `user.exec`. */
export interface ExecCredentialOptions {
  readonly apiVersion: string;
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | undefined;
  /** `Always` is refused: there is no terminal. */
  readonly interactiveMode?: string | undefined;
  /** Hint for users when the command is missing. */
  readonly installHint?: string | undefined;
  /** Passed to the command in `KUBERNETES_EXEC_INFO`; absent without `provideClusterInfo` in the kubeconfig. */
  readonly cluster?: Readonly<Record<string, unknown>> | undefined;
  /** Environment of the command in addition to its own. */
  readonly processEnv: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** The command's output. */
export interface ExecutedCredential {
  readonly token?: string | undefined;
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

const versions = new Set(["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"]);

/**
 * Runs a credential command when necessary: at first, when its credential expires, and when the server refused it. The command
 * has no terminal and a minute of time. Source: client-go plugin/pkg/client/auth/exec.
 */
export class ExecCredential {
  readonly #options: ExecCredentialOptions;
  #credential: ExecutedCredential | undefined;
  #expiresMs: number | undefined;

  /** @throws InvalidInputError if the version is neither v1 nor v1beta1 */
  constructor(options: ExecCredentialOptions) {
    if (!versions.has(options.apiVersion)) {
      throw new InvalidInputError(
        `kubeconfig: user.exec.apiVersion: "${options.apiVersion}" is not known, expected ${[...versions].join(" or ")}`,
      );
    }
    if (options.interactiveMode === "Always") {
      throw new InvalidInputError(
        `kubeconfig: user.exec.interactiveMode: ${options.command} needs a terminal, and there is none: use credentials that work without one`,
      );
    }
    this.#options = options;
  }

  /** Whether the command has to run before the credential is used again. */
  get isDue(): boolean {
    if (!this.#credential) return true;
    return this.#expiresMs !== undefined && this.#options.clock.now() >= this.#expiresMs - marginMs;
  }

  /** Forgets the credential. */
  expire(): void {
    this.#credential = undefined;
  }

  /** Returns the credential, and runs the command if it is due. @throws UnauthorizedError if the command fails */
  async current(): Promise<ExecutedCredential> {
    if (this.#credential && !this.isDue) return this.#credential;
    const status = readStatus(await this.#execute(), this.#options);
    const { expirationTimestamp, token, clientCertificateData, clientKeyData } = status;
    this.#expiresMs = expirationTimestamp === undefined ? undefined : Date.parse(expirationTimestamp);
    this.#credential = { token, certificate: clientCertificateData, key: clientKeyData };
    return this.#credential;
  }

  #execute(): Promise<string> {
    const { apiVersion, args = [], cluster, command, env = [], installHint, processEnv } = this.#options;
    const info = { apiVersion, kind: "ExecCredential", spec: { interactive: false, ...(cluster && { cluster }) } };
    const given = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    const environment = { ...processEnv, ...given, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
    return new Promise((resolve, reject) => {
      const child = execFile(
        command,
        args,
        { env: environment, timeout: timeoutMs, maxBuffer: maxOutputBytes },
        (error, stdout, stderr) => {
          if (error) reject(new UnauthorizedError(failureOf(command, error, stderr, installHint), { cause: error }));
          else resolve(stdout);
        },
      );
      child.stdin?.end();
    });
  }
}

interface ExecStatus {
  readonly token?: string;
  readonly clientCertificateData?: string;
  readonly clientKeyData?: string;
  readonly expirationTimestamp?: string;
}

function readStatus(output: string, { command, apiVersion }: ExecCredentialOptions): ExecStatus {
  let answer: { readonly apiVersion?: unknown; readonly status?: ExecStatus };
  try {
    answer = JSON.parse(output) as typeof answer;
  } catch {
    // The output may hold a token, so neither it nor the parser's error, which quotes it, is shown.
    throw new UnauthorizedError(`credential command ${command}: its output is not JSON`);
  }
  const { status } = answer;
  if (answer.apiVersion !== apiVersion) {
    throw new UnauthorizedError(`credential command ${command}: it answered in ${String(answer.apiVersion)}, expected ${apiVersion}`);
  }
  if (!status?.token && !(status?.clientCertificateData && status.clientKeyData)) {
    throw new UnauthorizedError(`credential command ${command}: its answer holds neither a token nor a client certificate with its key`);
  }
  return status;
}

function failureOf(command: string, error: Error & { readonly code?: unknown }, stderr: string, installHint: string | undefined): string {
  if (error.code === "ENOENT") return `credential command ${command}: not found${installHint ? `; ${installHint.trim()}` : ""}`;
  return `credential command ${command}: ${stderr.trim().slice(0, 500) || messageOf(error)}`;
}
