import { isDeepStrictEqual } from "node:util";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startApiServer } from "@virtual-kubelet/embedded-apiserver";
import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { eventually, startControlPlane } from "@virtual-kubelet/testing";
import { findKubectls, type FoundKubectl } from "../../support/kubectl.ts";
import { comparableOutput } from "./comparable-output.ts";
import { stepGroups } from "./index.ts";
import { widgetDefinition } from "./objects.ts";
import { runSteps, type StepOutput } from "./run-steps.ts";
import type { StepGroup } from "./step.ts";

/** Outputs of one step on two servers. */
export interface OutputComparison {
  /** Unique: group, words, and a number if the same words occur again. */
  readonly name: string;
  readonly isIdentical: boolean;
  /** Outputs of the real server and the embedded one, by the version of a kubectl for which they differ. */
  readonly differing: ReadonlyMap<string, readonly [StepOutput, StepOutput]>;
}

/** Groups for a kubectl that is neither the oldest nor the newest. The others hardly depend on kubectl. */
const middleGroups: ReadonlySet<string> = new Set(["objects of all kinds", "describe", "apply"]);

/** The oldest, a middle and the newest of a machine's kubectls. */
export async function comparedKubectls(): Promise<readonly FoundKubectl[]> {
  // A dispatcher starts another kubectl, by the server's version.
  const all = (await findKubectls()).filter(({ version }) => !version.includes("dispatcher"));
  const chosen = [all[0], all[Math.floor(all.length / 2)], all.at(-1)].flatMap((found) => found ?? []);
  return [...new Set(chosen)];
}

/** Runs all steps with these kubectls on a real control plane and on the embedded API server. Neither has a scheduler for the steps' pods. */
export async function compareKubectls(kubectls: readonly FoundKubectl[]): Promise<readonly OutputComparison[]> {
  await using ends = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "vk-compare-"));
  ends.defer(() => rm(folder, { recursive: true }));
  const range = "10.96.0.0/12";
  const real = ends.use(
    await startControlPlane({
      components: ["kube-controller-manager"],
      flags: { "kube-apiserver": { "service-cluster-ip-range": range } },
    }),
  );
  const embedded = ends.use(await startApiServer({ serviceClusterIpRange: range, objects: [widgetDefinition] }));
  const { code, stderr } = await real.kubectl(["create", "-f", "-"], { stdin: JSON.stringify(widgetDefinition) });
  if (code !== 0) throw new Error(stderr);
  await eventually(
    async () => {
      const { stdout } = await real.kubectl(["api-resources", "--api-group=compare.example.com", "-o", "name"]);
      if (stdout !== "widgets.compare.example.com\n") throw new Error(`the real server describes no widgets: ${stdout}`);
    },
    { timeoutMs: 60_000 },
  );
  const user = "dana";
  const groups = ["system:masters"];
  const embeddedKubeconfig = join(folder, "embedded.kubeconfig");
  await embedded.writeKubeconfig(embeddedKubeconfig, { user, groups });
  const { certificate, key } = createCertificateAuthority("tls");
  const files = { "tls.crt": certificate, "tls.key": key };
  const servers = [real.kubeconfigFor(user, groups).path, embeddedKubeconfig];

  const outputs = await Promise.all(
    kubectls.map(async ({ program, version }, index) => {
      const isMiddle = index > 0 && index < kubectls.length - 1;
      const steps = stepGroups.filter(({ name }) => !isMiddle || middleGroups.has(name));
      const namespace = `kubectl-${minorOf(version).replace(".", "-")}`;
      const [ofReal, ofEmbedded] = await Promise.all(
        servers.map(async (kubeconfig, server) => {
          const runFolder = join(folder, `${namespace}-${String(server)}`);
          const all = await runSteps({ program, kubeconfig, folder: runFolder, namespace, files }, steps);
          return all.map((output) => comparableOutput(output, runFolder));
        }),
      );
      const pairs = stepNames(steps).map((name, step) => [name, [ofReal?.[step], ofEmbedded?.[step]] as [StepOutput, StepOutput]] as const);
      return [minorOf(version), new Map(pairs)] as const;
    }),
  );
  return stepNames(stepGroups).map((name) => {
    const all = outputs.flatMap(([version, pairs]) => {
      const pair = pairs.get(name);
      return pair === undefined ? [] : [[version, pair] as const];
    });
    const differing = new Map(all.filter(([, [ofReal, ofEmbedded]]) => !isDeepStrictEqual(ofReal, ofEmbedded)));
    return { name, isIdentical: differing.size === 0, differing };
  });
}

/** Names of the compared steps, in their order. */
function stepNames(groups: readonly StepGroup[]): readonly string[] {
  const seen = new Map<string, number>();
  return groups.flatMap(({ name, steps }) =>
    steps.flatMap((step) => {
      if (!("words" in step)) return [];
      const title = `${name}: ${step.words}`;
      const count = (seen.get(title) ?? 0) + 1;
      seen.set(title, count);
      return [count === 1 ? title : `${title} (${String(count)})`];
    }),
  );
}

/** Lines shown of each output. */
const shownLines = 12;

/** The step and, for each kubectl, the lines that only one server printed. */
export function differenceText({ name, differing }: OutputComparison): string {
  const versions = [...differing].map(([version, [real, embedded]]) => {
    const parts = (["code", "stdout", "stderr"] as const).flatMap((part) => {
      const [ofReal, ofEmbedded] = [real, embedded].map((output) => String(output[part]).split("\n")) as [string[], string[]];
      if (isDeepStrictEqual(ofReal, ofEmbedded)) return [];
      const only = (lines: string[], others: string[]): string[] => lines.filter((line) => !others.includes(line)).slice(0, shownLines);
      return [
        `    ${part}`,
        ...only(ofReal, ofEmbedded).map((line) => `      real: ${line}`),
        ...only(ofEmbedded, ofReal).map((line) => `      embedded: ${line}`),
      ];
    });
    return [`  kubectl ${version}`, ...parts].join("\n");
  });
  return [`- ${name}`, ...versions].join("\n");
}

/** Such as `1.36`. */
function minorOf(version: string): string {
  return /^v(\d+\.\d+)/.exec(version)?.[1] ?? version;
}
