import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { findControlPlane } from "@virtual-kubelet/testing";

/** A kubectl that is installed on this machine. */
export interface FoundKubectl {
  readonly program: string;
  /** Such as `v1.36.3`. */
  readonly version: string;
}

/**
 * All kubectls of this machine, oldest first: the one on the PATH, `kubectl.1.NN` in the same folder, which some distributions
 * include, and the one that was built with the control plane. If `KUBECTL` is set, only that one.
 *
 * @throws Error if there is none
 */
export async function findKubectls(): Promise<FoundKubectl[]> {
  const programs = kubectlPrograms();
  if (programs.length === 0) throw new Error(noKubectl);
  const found = await Promise.all(programs.map(async (program) => ({ program, version: await versionOf(program) })));
  const byVersion = new Map(found.map((one) => [one.version, one]));
  return [...byVersion.values()].toSorted((a, b) => a.version.localeCompare(b.version, "en", { numeric: true }));
}

/**
 * The kubectl for most tests: the control plane's if there is one, otherwise the newest of {@link findKubectls}. @throws Error if there is
 * none
 */
export async function findKubectl(): Promise<FoundKubectl> {
  const own = process.env["KUBECTL"] ? undefined : kubectlOfControlPlane();
  const [found] = own === undefined ? (await findKubectls()).toReversed() : [{ program: own, version: await versionOf(own) }];
  if (found === undefined) throw new Error(noKubectl);
  return found;
}

const noKubectl =
  "there is no kubectl for these tests: put one on the PATH, set KUBECTL, or run make test LEVEL=kubectl, which builds one with Go";

function kubectlPrograms(): string[] {
  const named = process.env["KUBECTL"];
  if (named) return [named];
  const onPath = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "kubectl"))
    .find((file) => existsSync(file));
  const own = kubectlOfControlPlane();
  return [...(onPath === undefined ? [] : withSiblings(realpathSync(onPath))), ...(own === undefined ? [] : [own])];
}

/** Path of the kubectl of the control plane's version; `undefined` if it is neither built nor in `KUBEBUILDER_ASSETS`. */
function kubectlOfControlPlane(): string | undefined {
  const lookup = findControlPlane({ programs: ["kubectl"] });
  return lookup.status === "found" ? realpathSync(join(lookup.directory, "kubectl")) : undefined;
}

function withSiblings(program: string): string[] {
  const folder = dirname(program);
  const siblings = readdirSync(folder).filter((file) => /^kubectl\.1\.\d+$/.test(file));
  return [program, ...siblings.map((file) => join(folder, file))];
}

async function versionOf(program: string): Promise<string> {
  const { stdout } = await run(program, ["version", "--client", "--output=json"]).result;
  return (JSON.parse(stdout) as { clientVersion: { gitVersion: string } }).clientVersion.gitVersion;
}

/** Output of kubectl. */
export interface Printed {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

/** Runs kubectl with a kubeconfig and without the user's configuration. */
export class Kubectl {
  readonly #program: string;
  readonly #folder: string;

  /** @param folder - contains the file `kubeconfig`; also holds the discovery cache */
  constructor(program: string, folder: string) {
    this.#program = program;
    this.#folder = folder;
  }

  /** Runs kubectl and waits for its end. @returns its standard output @throws Error if it fails */
  async print(words: string, stdin: string = ""): Promise<string> {
    const { stdout, stderr, code } = await this.try(words, stdin);
    if (code !== 0) throw new Error(`kubectl ${words}: exit code ${code}\n${stderr}${stdout}`);
    return stdout;
  }

  /** Runs kubectl and waits for its end. A failure is a result, not an error. */
  try(words: string, stdin: string = ""): Promise<Printed> {
    const { child, result } = this.start(words);
    child.stdin?.end(stdin);
    return result;
  }

  /** Starts a kubectl that runs until it is killed. */
  start(words: string): Started {
    const options = [`--kubeconfig=${join(this.#folder, "kubeconfig")}`, `--cache-dir=${join(this.#folder, "cache")}`];
    return run(this.#program, [...words.split(" "), ...options], this.#folder);
  }
}

/** A running kubectl. */
export interface Started {
  readonly child: ChildProcess;
  /** Output so far. */
  readonly output: { stdout: string; stderr: string };
  readonly result: Promise<Printed>;
}

function run(program: string, words: readonly string[], home: string = "/"): Started {
  const child = spawn(program, words, {
    env: { PATH: process.env["PATH"], HOME: home, KUBECTL_KUBERC: "false" },
    stdio: ["pipe", "pipe", "pipe"],
    timeout: 110_000,
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  // kubectl may end before it has read all of its input.
  child.stdin.on("error", () => undefined);
  const result = once(child, "close").then(([code]) => ({ ...output, code: code as number | null }));
  return { child, output, result };
}
