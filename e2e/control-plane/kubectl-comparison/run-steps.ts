import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "@virtual-kubelet/testing";
import type { KubectlStep, StepGroup } from "./step.ts";

/** A kubectl, a server and a namespace of their own. */
export interface KubectlRun {
  readonly program: string;
  readonly kubeconfig: string;
  /** New folder in which kubectl runs, for its cache and the steps' files. */
  readonly folder: string;
  /** Namespace, which the run creates. Also the name of its objects without a namespace. */
  readonly namespace: string;
  /** Files that steps name, by name. */
  readonly files: Readonly<Record<string, string>>;
}

/** What a kubectl command printed. */
export interface StepOutput {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Most that a command waits, for example for a deletion. */
const commandTimeoutMs = 100_000;

/** Runs all steps in order. @returns the outputs of the steps that are compared @throws Error if a wait does not end */
export async function runSteps(run: KubectlRun, groups: readonly StepGroup[]): Promise<readonly StepOutput[]> {
  await mkdir(run.folder);
  for (const [name, text] of Object.entries(run.files)) await writeFile(join(run.folder, name), text);
  await kubectl(run, { words: `create namespace ${run.namespace}` });
  await eventually(
    async () => {
      const { code, stderr } = await kubectl(run, { words: "get serviceaccount/default configmap/kube-root-ca.crt" });
      if (code !== 0) throw new Error(stderr);
    },
    { timeoutMs: 60_000 },
  );
  const outputs: StepOutput[] = [];
  for (const { steps } of groups)
    for (const step of steps) {
      if ("words" in step) outputs.push(await kubectl(run, step));
      else
        await eventually(
          async () => {
            const { stdout, stderr } = await kubectl(run, { words: step.until });
            if (!step.prints.test(stdout))
              throw new Error(`kubectl ${step.until} does not print ${String(step.prints)}: ${stderr}${stdout}`);
          },
          { timeoutMs: 60_000, intervalMs: 200 },
        );
    }
  return outputs;
}

function kubectl({ program, kubeconfig, folder, namespace }: KubectlRun, { words, stdin = "", editor }: KubectlStep): Promise<StepOutput> {
  const fill = (text: string): string => text.replaceAll("{ns}", namespace);
  const args = [...shellWords(fill(words))];
  // Flags after "--" would be arguments of the container.
  const flags = [`--kubeconfig=${kubeconfig}`, `--cache-dir=${join(folder, "cache")}`];
  if (!/ (-n|--namespace|-A)\b/.test(words)) flags.push(`--namespace=${namespace}`);
  const text = typeof stdin === "string" ? stdin : JSON.stringify({ apiVersion: "v1", kind: "List", items: stdin });
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      [...flags, ...args],
      {
        cwd: folder,
        timeout: commandTimeoutMs,
        maxBuffer: 2 ** 26,
        env: {
          PATH: process.env["PATH"],
          HOME: folder,
          TMPDIR: folder,
          TZ: "UTC",
          KUBECTL_KUBERC: "false",
          ...(editor === undefined ? {} : { KUBE_EDITOR: editor }),
        },
      },
      (error, stdout, stderr) => {
        // Two commands that were stopped would print the same.
        if (error !== null && typeof error.code !== "number") reject(new Error(`kubectl ${words} did not end by itself`, { cause: error }));
        else resolve({ code: Number(error?.code ?? 0), stdout, stderr });
      },
    );
    // kubectl may end before it has read all of its input.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(fill(text));
  });
}

/** Splits words at spaces, except within single quotes. */
function shellWords(text: string): readonly string[] {
  return [...text.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ""));
}
