import { withDeadline } from "@virtual-kubelet/async";
import { isDeadlineExceeded, messageOf } from "@virtual-kubelet/errdefs";
import type { CommandLine } from "../command-line/flag-parser.ts";
import type { Context } from "../context.ts";
import type { NodeCheck, ProgramCheck } from "./check.ts";
import { certificateRequestCheck, servingCertificateCheck } from "./checks/certificate.ts";
import { clientCaCheck } from "./checks/client-ca.ts";
import { clockCheck, credentialsCheck, identityCheck, kubeconfigCheck, reachableCheck, versionCheck } from "./checks/cluster.ts";
import { accessCheck, filesCheck, settingsCheck, warningsCheck } from "./checks/configuration.ts";
import { kubeletPortCheck } from "./checks/kubelet-port.ts";
import { nodeAddressesCheck, nodeLeaseCheck, nodeObjectCheck, nodeReadyCheck, nodeTaintsCheck } from "./checks/node.ts";
import { permissionsCheck } from "./checks/permissions.ts";
import { providerConfigurationCheck, providerPingCheck } from "./checks/provider.ts";
import { reachCheck } from "./checks/reach.ts";
import { SkippedError } from "./fact.ts";
import { discoversNodes } from "../providers/provider-setup.ts";
import { createFacts, createNodeFacts, type NodeFacts } from "./facts.ts";
import { fail, skip, type Finding, type Judgement } from "./finding.ts";

const programChecks: readonly ProgramCheck[] = [
  settingsCheck,
  warningsCheck,
  filesCheck,
  accessCheck,
  kubeconfigCheck,
  credentialsCheck,
  reachableCheck,
  versionCheck,
  clockCheck,
  identityCheck,
  clientCaCheck,
  permissionsCheck,
];

const nodeChecks: readonly NodeCheck[] = [
  providerConfigurationCheck,
  providerPingCheck,
  nodeObjectCheck,
  nodeReadyCheck,
  nodeTaintsCheck,
  nodeAddressesCheck,
  nodeLeaseCheck,
  kubeletPortCheck,
  servingCertificateCheck,
  certificateRequestCheck,
  reachCheck,
];

/** Checks of objects that only a node of the settings has, and not the nodes that a provider discovers. */
const checksOfOneNode: ReadonlySet<NodeCheck> = new Set([
  nodeObjectCheck,
  nodeReadyCheck,
  nodeTaintsCheck,
  nodeAddressesCheck,
  nodeLeaseCheck,
  reachCheck,
]);

/** Timeout of one check, in milliseconds. It is longer than those of its steps. */
const checkTimeoutMs = 60_000;

/**
 * Runs all checks at once, whatever the others find, and yields their findings in a fixed order as soon as they are known. Changes nothing.
 *
 * @throws `signal.reason` of the context when aborted
 */
export async function* runChecks(line: CommandLine, context: Context): AsyncGenerator<Finding, void> {
  const { signal } = context;
  await using opened = new AsyncDisposableStack();
  const facts = createFacts(line, context, opened, signal);
  const run = (name: string, check: () => Promise<readonly Judgement[]>, node?: string): Promise<readonly Finding[]> => {
    const findings = findingsOf(name, check, context, node);
    // When the program is interrupted, only one of them is awaited.
    findings.catch(() => {});
    return findings;
  };
  const ofProgram = programChecks.map((check) => run(check.name, () => check.run(facts, signal)));
  const ofNodes = facts.loaded.own().then(
    (loaded) =>
      loaded.settings.nodes.flatMap(({ name }, index) => {
        const node = createNodeFacts(facts, loaded, index, signal);
        return nodeChecks.map((check) => run(check.name, () => judge(check, node, signal), name));
      }),
    () => nodeChecks.map(({ name }) => Promise.resolve([{ ...skip("needs configuration.settings"), check: name }])),
  );
  for (const findings of ofProgram) yield* await findings;
  for (const findings of await ofNodes) yield* await findings;
}

async function judge(check: NodeCheck, node: NodeFacts, signal: AbortSignal): Promise<readonly Judgement[]> {
  const planned = checksOfOneNode.has(check) ? await node.planned.own().catch(() => undefined) : undefined;
  if (planned && discoversNodes(planned.setup))
    return [
      skip(`the nodes of ${node.name} are those of the back end: kubectl get nodes -l virtual-kubelet.io/discovered-by=${node.name}`),
    ];
  return check.run(node, signal);
}

async function findingsOf(
  name: string,
  check: () => Promise<readonly Judgement[]>,
  { clock, signal }: Context,
  node: string | undefined,
): Promise<readonly Finding[]> {
  const judgements = await withDeadline({ clock, timeoutMs: checkTimeoutMs, what: name }, signal, check).catch((error: unknown) => {
    signal.throwIfAborted();
    return [judgeError(error)];
  });
  return judgements.map((judgement) => ({ node, ...judgement, check: judgement.check ?? name }));
}

function judgeError(error: unknown): Judgement {
  if (error instanceof SkippedError) return skip(error.message);
  const message = messageOf(error).replaceAll("\n", " ");
  return fail(
    message,
    isDeadlineExceeded(error) ? "# find out what does not answer, and try again" : "# see the other findings, and the program's log",
  );
}
