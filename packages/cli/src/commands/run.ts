import { untilAborted } from "@virtual-kubelet/async";
import { kubernetesVersion } from "@virtual-kubelet/core";
import { messageOf } from "@virtual-kubelet/errdefs";
import type { Logger } from "@virtual-kubelet/kube-client";
import { nodeMetrics, openTelemetryTracer, PrometheusMetrics, renderMetrics } from "@virtual-kubelet/metrics";
import { checkRun } from "../dry-run/check-run.ts";
import { loadSettings, type LoadedSettings } from "../config/load-settings.ts";
import { ms } from "../config/node-options.ts";
import { parseHostPort } from "../config/addresses.ts";
import { connect } from "../connect.ts";
import type { Context } from "../context.ts";
import { openDebug } from "../debug/open-debug.ts";
import type { ProgramState } from "../debug/status-words.ts";
import { dryRun } from "../dry-run/dry-run.ts";
import { exitCodes } from "../exit-codes.ts";
import { isOn, type CommandLine } from "../command-line/flag-parser.ts";
import { startHealthServer, type HealthCheck } from "../health/health-server.ts";
import { checkOfFailure, checkOfPool, checksOf } from "../health/node-checks.ts";
import { defaultNodeAddress } from "../kubelet-server/node-address.ts";
import { openKubeletServers } from "../kubelet-server/open-kubelet-servers.ts";
import { rotateClientCertificate } from "../join/rotate-client-certificate.ts";
import { createProgramLogger } from "../logging/program-logger.ts";
import { lockNode, type NodeLockOptions } from "../nodes/node-lock.ts";
import { openNodes } from "../nodes/open-nodes.ts";
import { firstOfEachEntry, planNodes, type PlannedNode } from "../nodes/plan-nodes.ts";
import { ConfigError } from "../program-error.ts";
import { runNodes } from "../nodes/run-nodes.ts";
import { certDirectoryOf } from "../kubelet-server/cert-directory.ts";
import { openTracing } from "../tracing/open-tracing.ts";
import { planTracing } from "../tracing/tracing-settings.ts";
import { versionInfo } from "../version-info.ts";

/** Maximum number of nodes named in the first log record. */
const maxNamesLogged = 5;

/** `run`, the default command. */
export async function execute(line: CommandLine, context: Context): Promise<number> {
  // Everything before the nodes run may hang: a file on an unreachable share, or a provider's module.
  const { loaded, planned } = await untilAborted(plan(line, context), context.signal);
  if (isOn(line, "dry-run")) return await untilAborted(runDry(planned, loaded, context), context.signal);
  const logger = createProgramLogger(loaded.settings.log, context);
  for (const warning of loaded.warnings) logger.warn({}, warning);
  return runPlanned(planned, loaded, context, logger);
}

async function plan(line: CommandLine, context: Context): Promise<{ loaded: LoadedSettings; planned: PlannedNode[] }> {
  const loaded = await loadSettings(line, context);
  return { loaded, planned: await planNodes(loaded, context) };
}

async function runDry(planned: readonly PlannedNode[], loaded: LoadedSettings, context: Context): Promise<number> {
  for (const warning of [...loaded.warnings, ...planTracing(context.env).warnings, ...(await checkRun(planned, loaded, context))])
    context.stderr.write(`virtual-kubelet: ${warning}\n`);
  await using connection = await connect(loaded, context);
  const { text, isClear } = await dryRun(planned, loaded, connection, context);
  context.stdout.write(text);
  return isClear ? exitCodes.ok.code : exitCodes.failure.code;
}

/**
 * Runs planned nodes until the context's signal aborts or one of them fails.
 *
 * @param onReady - called when all nodes are ready. Default: nothing
 * @returns exit code; errors have been logged
 */
export async function runPlanned(
  planned: readonly PlannedNode[],
  loaded: LoadedSettings,
  context: Context,
  logger: Logger,
  onReady?: () => void,
): Promise<number> {
  const { settings } = loaded;
  const { clock, random, signal } = context;
  // Served by the node's HTTPS server.
  using metrics = new PrometheusMetrics({ process: true });
  await using _tracing = await untilAborted(openTracing({ env: context.env, clock, logger }), signal);
  const tracer = openTelemetryTracer();
  await using connection = await untilAborted(connect(loaded, context, metrics), signal);
  const { group } = settings.instance;
  const common = {
    client: connection.client,
    clusterId: settings.cluster.id,
    clusterDomain: settings.cluster.domain,
    apiServerForPods: settings.cluster.apiServerForPods,
    clock,
    random,
    logger,
    metrics,
    tracer,
  };
  using opened = openNodes(planned, common, group);
  const { runnable, live, pool, unlisted, failing } = opened;
  if (onReady) Promise.all(runnable.map(({ node }) => node.ready)).then(onReady, () => {});
  const { virtualKubelet } = versionInfo();
  const names = planned.map(({ options, setup }) => `${options.name} (${setup.definition.name})`);
  const shown =
    names.length > maxNamesLogged
      ? `${names.slice(0, maxNamesLogged).join(", ")} and ${names.length - maxNamesLogged} more`
      : names.join(", ");
  logger.info({ version: virtualKubelet, kubernetes: kubernetesVersion, server: connection.server, nodes: shown }, "starting");

  tellOfVariables(planned, logger);
  tellOfAddresses(planned, loaded, context, logger);

  const startedMs = clock.monotonic();
  let waitsFor: string | undefined;
  const program = (): ProgramState => ({
    version: virtualKubelet,
    kubernetes: kubernetesVersion,
    pid: context.pid,
    host: context.hostName,
    upMs: clock.monotonic() - startedMs,
    waitsFor,
    shares: pool?.state,
  });
  const source = { program, nodes: live.all, now: () => clock.now() };
  const nodeNames = planned.map(({ options }) => options.name);
  const socketOwners = firstOfEachEntry(planned).map(({ options }) => options.name);
  await using _debug = await untilAborted(openDebug({ source, nodeNames: socketOwners, loaded, context, logger }), signal);
  const onWait = (holder: string | undefined): void => void (waitsFor = holder);
  await using _locks = await untilAborted(lockNodes(planned, loaded, { context, logger, onWait }), signal);
  const renderAll = async (): Promise<string> =>
    renderMetrics(nodeMetrics(live.all.map(({ access }) => access))) + (await metrics.render());
  const servers = { loaded, live, client: connection.client, context, logger, metrics, renderMetrics: renderAll, tracer };
  const rotation = { nodeNames, loaded, connection, context, logger, metrics };
  await using _rotation = await untilAborted(rotateClientCertificate(rotation), signal);
  await using _servers = await untilAborted(openKubeletServers(servers), signal);
  const checks = (): HealthCheck[] => [
    ...live.all.flatMap((node) => checksOf(node, pool !== undefined)),
    ...(pool ? [checkOfPool(pool.state)] : []),
    ...failing().map(checkOfFailure),
    ...unlisted().map((name) => ({ name: `discovery/${name}`, problem: "the back end has not listed its nodes yet" })),
  ];
  await using _health = await untilAborted(openHealth(loaded, logger, checks), signal);
  return await runNodes({
    nodes: runnable,
    signal,
    startupTimeoutMs: ms(settings.startupTimeout) ?? 0,
    shutdownTimeoutMs: ms(settings.shutdownTimeout) ?? 0,
    clock,
    logger,
  });
}

/**
 * Locks all nodes against a second program on this host, or none of them. Nodes of one entry have one lock. Instances that share nodes may run
 * on one host, but not with one identity, so that is locked instead; who runs a node is decided by its Lease.
 */
async function lockNodes(
  planned: readonly PlannedNode[],
  loaded: LoadedSettings,
  { context, ...parts }: { readonly context: Context } & Pick<NodeLockOptions, "logger" | "onWait">,
): Promise<AsyncDisposable> {
  const { clock, pid, signal } = context;
  const { standby, group } = loaded.settings.instance;
  await using locks = new AsyncDisposableStack();
  const [first] = planned;
  if (group !== undefined && first) {
    const { identity } = first.options.instance;
    const { directory } = certDirectoryOf(first.options.name, loaded, context);
    const describeHeld = (holder: string): string =>
      `instance ${JSON.stringify(identity)} of group ${JSON.stringify(group)}: ${holder} on this host is it already: stop that one, or give this one another --identity`;
    return await lockNode({
      nodeName: `group-${group}.${identity}`,
      directory,
      pid,
      standby: false,
      clock,
      signal,
      ...parts,
      describeHeld,
    });
  }
  for (const { options } of firstOfEachEntry(planned)) {
    const { directory } = certDirectoryOf(options.name, loaded, context);
    locks.use(await lockNode({ nodeName: options.name, directory, pid, standby, clock, signal, ...parts }));
  }
  return locks.move();
}

/** Logs which fields of the providers' configurations come from the environment. */
function tellOfVariables(planned: readonly PlannedNode[], logger: Logger): void {
  for (const { options, setup } of planned) {
    if (setup.filledIn.length === 0) continue;
    const fields = setup.filledIn.map(({ field, variable }) => `${field} (${variable})`).join(", ");
    logger.info(
      { node: options.name, provider: setup.definition.name, fields },
      "environment variables complete the provider's configuration",
    );
  }
}

/** Logs where the API server will find the nodes if their providers name no address. */
function tellOfAddresses(planned: readonly PlannedNode[], { settings }: LoadedSettings, context: Context, logger: Logger): void {
  if (!planned.some(({ options }) => options.kubeletPort !== 0 && options.address === undefined)) return;
  const chosen = defaultNodeAddress(settings.kubelet.address, context);
  if (chosen) logger.info({ ...chosen }, "address of the nodes unless the provider names one; --node-ip overrides it");
  else logger.warn({}, "the nodes have no address unless the provider names one: logs and exec cannot reach them; set --node-ip");
}

/** The default address may be in use, by a kubelet or another copy of the program. The program then runs without its health server. */
async function openHealth(
  loaded: LoadedSettings,
  logger: Logger,
  readiness: () => readonly HealthCheck[],
): Promise<AsyncDisposable | undefined> {
  const { address } = loaded.settings.health;
  const hostPort = parseHostPort(address);
  if (address === "off" || !hostPort) return undefined;
  const path = ["health", "address"];
  try {
    return await startHealthServer(hostPort, readiness);
  } catch (error) {
    if (loaded.merged.sourceOf(path).kind !== "default") {
      throw new ConfigError(`${loaded.nameOf(path)}: ${JSON.stringify(address)}: cannot listen there: ${messageOf(error)}`, {
        cause: error,
      });
    }
    logger.warn({ address, err: error }, "the health server is not available; choose another --health-addr");
    return undefined;
  }
}
