import type { Logger } from "@virtual-kubelet/kube-client";
import { basename, dirname, join, relative, resolve } from "node:path";
import { isOn, valueOf, type CommandLine } from "../command-line/flag-parser.ts";
import { defaults } from "../config/defaults.ts";
import { mergeLayers, type ConfigPath, type LayerEntry } from "../config/layers.ts";
import { absolutePath, checkLayers, type LoadedSettings } from "../config/load-settings.ts";
import { nameBySource } from "../config/problems.ts";
import { configApiVersion, configKind } from "../config/schema.ts";
import { envEntries, flagEntries } from "../config/setting-entries.ts";
import { connect } from "../connect.ts";
import type { Context } from "../context.ts";
import { freePort } from "../demo/demo-kubelet.ts";
import { DemoScreen } from "../demo/demo-screen.ts";
import { embeddedPort, openEmbedded, writeKubeconfig } from "../demo/embedded-cluster.ts";
import { createProgramLogger } from "../logging/program-logger.ts";
import { lockNode } from "../nodes/node-lock.ts";
import { planNodes } from "../nodes/plan-nodes.ts";
import { ConfigError, UsageError } from "../program-error.ts";
import { runPlanned } from "./run.ts";

/** `simulate`: runs mock nodes on a cluster, or on an API server in this process, until the signal aborts. */
export async function execute(line: CommandLine, context: Context): Promise<number> {
  const screen = new DemoScreen(context);
  const isEmbedded = isOn(line, "embedded");
  const given = valueOf(line, "kubeconfig");
  if (!isEmbedded && valueOf(line, "port") !== undefined)
    throw new UsageError("--port: expected together with --embedded, because it is the port of the API server in memory");
  const written = isEmbedded ? resolve(context.cwd, given ?? defaults.simulateKubeconfig) : undefined;
  const loaded = settingsOf(line, context, { written, kubeletPort: valueOf(line, "kubelet-port") ?? String(await freePort()) });
  // Problems of the settings are told before anything happens.
  const planned = await planNodes(loaded, context);
  if (isEmbedded) embeddedPort(line);
  else await checkCluster(loaded, context, given);
  const logger = createProgramLogger(loaded.settings.log, context);
  await using _lock = written === undefined ? undefined : await lockKubeconfig(written, context, logger);
  await using server = isEmbedded ? await openEmbedded(line, context, "simulate") : undefined;
  if (server && written !== undefined) {
    await writeKubeconfig(written, server);
    screen.done(`Kubernetes API server on ${server.url} (in memory)`);
  }
  const count = planned.length === 1 ? "1 node" : `${planned.length} nodes`;
  sayNext(screen, kubectlOf(written ?? given, context), { count, isOpen: loaded.settings.nodes.every(({ taint }) => taint.disable) });
  for (const warning of loaded.warnings) logger.warn({}, warning);
  const onReady = (): void =>
    screen.done(loaded.settings.instance.group === undefined ? `${count} Ready` : `this instance's share of ${count} is Ready`);
  return await runPlanned(planned, loaded, context, logger, onReady);
}

/** @throws ConfigError if there is no cluster; where none was named, the message has the other way to simulate nodes, too */
async function checkCluster(loaded: LoadedSettings, context: Context, given: string | undefined): Promise<void> {
  try {
    await using _connection = await connect(loaded, context);
  } catch (error) {
    if (given !== undefined || !(error instanceof ConfigError)) throw error;
    throw new ConfigError(`${error.message}; or simulate the cluster, too, with --embedded`, { cause: error });
  }
}

/**
 * Locks the file against another simulation, whose cluster could not be reached any more after it was overwritten.
 *
 * @throws ConfigError if a simulation runs with this file
 */
async function lockKubeconfig(file: string, { pid, clock, signal }: Context, logger: Logger): Promise<AsyncDisposable> {
  return await lockNode({
    nodeName: `kubeconfig-${basename(file)}`,
    directory: certDirectoryBeside(file),
    pid,
    standby: false,
    clock,
    logger,
    signal,
    describeHeld: (holder) =>
      `--kubeconfig: ${JSON.stringify(file)}: the API server in memory of ${holder} is reached by this file: stop that one, or name another file`,
  });
}

function certDirectoryBeside(kubeconfig: string): string {
  return join(dirname(kubeconfig), "pki");
}

/** The settings of a run of mock nodes. @throws ConfigError with one line for each problem */
function settingsOf(
  line: CommandLine,
  context: Context,
  { written, kubeletPort }: { readonly written: string | undefined; readonly kubeletPort: string },
): LoadedSettings {
  // Pods of a cluster that others use must not run on nothing because nobody said that they may.
  const base = { apiVersion: configApiVersion, kind: configKind, nodes: [{ provider: "mock", taint: { disable: written !== undefined } }] };
  const own = (flag: string, path: ConfigPath, fallback: unknown): LayerEntry => {
    const text = valueOf(line, flag);
    if (text === undefined) return { path, value: fallback, source: { kind: "default" } };
    return { path, value: /^-?\d+$/.test(text) && flag !== "name" ? Number(text) : text, source: { kind: "flag", name: flag } };
  };
  const fixed = (path: ConfigPath, value: unknown): LayerEntry => ({ path, value, source: { kind: "default" } });
  const given = valueOf(line, "kubeconfig");
  const flags = flagEntries(line.flags, 1);
  const variables = envEntries(context.env, 1);
  const isShared = [...variables, ...flags].some(({ path }) => path.join(".") === "instance.group");
  const merged = mergeLayers(base, { kind: "default" }, [
    fixed(["log", "level"], "warn"),
    // Nobody runs the nodes afterwards, unless another instance takes them over.
    ...(isShared ? [] : [fixed(["nodes", 0, "onShutdown"], "delete")]),
    ...variables,
    // Variables are for nodes that run pods elsewhere.
    fixed(["nodes", 0, "provider"], "mock"),
    own("name", ["nodes", 0, "name"], defaults.simulatedName),
    own("nodes", ["nodes", 0, "count"], defaults.simulatedNodes),
    own("pods", ["nodes", 0, "capacity", "pods"], defaults.simulatedPods),
    own("kubelet-port", ["nodes", 0, "kubeletPort"], Number(kubeletPort)),
    ...(given === undefined || written !== undefined ? [] : [own("kubeconfig", ["cluster", "kubeconfig"], given)]),
    ...(written === undefined ? [] : embeddedEntries(written, fixed)),
    ...flags,
  ]);
  const layers = {
    merged,
    nodeCount: 1,
    nameOf: nameBySource(merged.sourceOf, undefined),
    resolvePath: (_path: ConfigPath, value: string): string => absolutePath(context.cwd, value, context),
  };
  return checkLayers(layers, line, context);
}

/** Settings of nodes whose API server is in this process: nobody approves their certificates, and nobody else calls them. */
function embeddedEntries(kubeconfig: string, fixed: (path: ConfigPath, value: unknown) => LayerEntry): LayerEntry[] {
  return [
    fixed(["cluster", "kubeconfig"], kubeconfig),
    fixed(["cluster", "context"], "simulate"),
    fixed(["kubelet", "address"], "127.0.0.1"),
    fixed(["kubelet", "serverTLSBootstrap"], false),
    fixed(["kubelet", "certDirectory"], certDirectoryBeside(kubeconfig)),
    fixed(["nodes", 0, "address"], "127.0.0.1"),
  ];
}

function kubectlOf(kubeconfig: string | undefined, { cwd }: Context): string {
  if (kubeconfig === undefined) return "kubectl";
  const file = relative(cwd, resolve(cwd, kubeconfig));
  return `kubectl --kubeconfig ${file.startsWith("..") ? resolve(cwd, kubeconfig) : file}`;
}

function sayNext(screen: DemoScreen, kubectl: string, { count, isOpen }: { readonly count: string; readonly isOpen: boolean }): void {
  screen.say(`${count} ${count === "1 node" ? "joins" : "join"} the cluster. Type in another terminal (Ctrl-C here stops the simulation):`);
  screen.say(`  ${screen.strong(`${kubectl} get nodes`)}`);
  if (!isOpen) {
    screen.say("The nodes have a taint, so that only pods that tolerate it are scheduled to them; --disable-taint opens them to all pods.");
    return;
  }
  screen.say(`  ${screen.strong(`${kubectl} create deployment web --image nginx --replicas 100`)}`);
  screen.say(`  ${screen.strong(`${kubectl} get pods -o wide --watch`)}`);
}
