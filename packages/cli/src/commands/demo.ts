import { VirtualNode } from "@virtual-kubelet/core";
import { createKubeClient, resources, type KubeClient, type Logger, type Metrics } from "@virtual-kubelet/kube-client";
import { PrometheusMetrics } from "@virtual-kubelet/metrics";
import { provider } from "@virtual-kubelet/provider-mock";
import { relative, resolve } from "node:path";
import { defaults } from "../config/defaults.ts";
import type { Context } from "../context.ts";
import { demoDeployment, demoDeploymentObject, demoNodeName } from "../demo/demo-workload.ts";
import { demoAddress, freePort, serveDemoNode } from "../demo/demo-kubelet.ts";
import { openEmbedded, writeKubeconfig } from "../demo/embedded-cluster.ts";
import { DemoScreen } from "../demo/demo-screen.ts";
import { watchPods } from "../demo/watch-pods.ts";
import { exitCodes } from "../exit-codes.ts";
import { isOn, valueOf, type CommandLine } from "../command-line/flag-parser.ts";
import { createProgramLogger } from "../logging/program-logger.ts";
import { ProgramError } from "../program-error.ts";
import { runNodes } from "../nodes/run-nodes.ts";
import { kubeletVersionOf, versionInfo } from "../version-info.ts";

/** Timeout for everything to run. */
const patienceMs = 60_000;
const shutdownTimeoutMs = 10_000;

/** `demo`: runs a cluster, a virtual node and a Deployment in this process, and writes a kubeconfig for it. */
export async function execute(line: CommandLine, context: Context): Promise<number> {
  const screen = new DemoScreen(context);
  const kubeconfig = resolve(context.cwd, valueOf(line, "kubeconfig") ?? defaults.demoKubeconfig);
  await using server = await openEmbedded(line, context, "demo");
  await writeKubeconfig(kubeconfig, server);
  screen.done(`Kubernetes API server on ${server.url} (in memory)`);

  using metrics = new PrometheusMetrics({ process: true });
  const client = createKubeClient(server.transport(), { clock: context.clock, metrics });
  const logger = createProgramLogger({ level: "warn", format: "text" }, context);
  const end = new AbortController();
  const kubeletPort = await freePort();
  const node = newNode({ client, kubeletPort, context, logger, metrics });
  await using _kubelet = await serveDemoNode({ node, name: demoNodeName, port: kubeletPort, client, context, logger, metrics });
  const running = runNodes({
    nodes: [{ name: demoNodeName, node }],
    signal: AbortSignal.any([context.signal, end.signal]),
    startupTimeoutMs: patienceMs,
    shutdownTimeoutMs,
    clock: context.clock,
    logger,
  });
  const once = isOn(line, "once");
  const story = tell({ client, node, screen, context, kubeconfig, once }, AbortSignal.any([context.signal, end.signal]));
  try {
    await Promise.race([story, running.then((code) => failIfEarly(code, context.signal))]);
  } catch (error) {
    if (!context.signal.aborted) throw error;
    return once ? exitCodes.failure.code : exitCodes.ok.code;
  } finally {
    end.abort(new Error("the demo is over"));
    await Promise.allSettled([story, running]);
  }
  return exitCodes.ok.code;
}

interface Stage {
  readonly client: KubeClient;
  readonly node: VirtualNode;
  readonly screen: DemoScreen;
  readonly context: Context;
  readonly kubeconfig: string;
  readonly once: boolean;
}

/** Prints what happens. With `--once` it ends when the pods run; otherwise when aborted. */
async function tell(stage: Stage, signal: AbortSignal): Promise<void> {
  const { client, node, screen, context, once } = stage;
  const late = new AbortController();
  const patience = context.clock.setTimer(patienceMs, () => {
    late.abort(
      new ProgramError(`demo: ${demoDeployment.replicas} pods are not running after ${patienceMs / 1000} s`, exitCodes.failure.code),
    );
  });
  using _patience = patience;
  const bounded = AbortSignal.any([signal, late.signal]);
  await node.ready;
  screen.done(`Node ${demoNodeName} is Ready`);
  await client.create(resources.deployments, demoDeploymentObject(), { signal: bounded });
  screen.done(`Deployment ${demoDeployment.name} was created, ${demoDeployment.replicas} pods wanted`);

  const run = new Set<string>();
  let isTold = false;
  for await (const pod of watchPods(client, bounded)) {
    screen.seen(`pod ${pod.name}  ${pod.state}${pod.state === "Running" ? `  ${pod.podIP ?? ""} on ${pod.node ?? ""}` : ""}`);
    if (pod.state !== "Running") continue;
    run.add(pod.name);
    if (run.size === 1 && !isTold) screen.done(`first pod is Running after ${screen.elapsed}`);
    if (run.size < demoDeployment.replicas || isTold) continue;
    isTold = true;
    patience[Symbol.dispose]();
    screen.done(`all ${demoDeployment.replicas} pods are Running`);
    sayNext(stage);
    if (once) return;
  }
}

function sayNext({ screen, context, kubeconfig, once }: Stage): void {
  const file = relative(context.cwd, kubeconfig);
  const kubectl = `kubectl --kubeconfig ${file.startsWith("..") ? kubeconfig : file}`;
  const { name } = demoDeployment;
  screen.say("");
  screen.say(
    once ? "Without --once the cluster keeps running, and you can type:" : "Now type in another terminal (Ctrl-C here stops the demo):",
  );
  screen.say(`  ${screen.strong(`${kubectl} get nodes,pods -o wide`)}`);
  screen.say(`  ${screen.strong(`${kubectl} scale deployment ${name} --replicas 10`)}`);
  screen.say(`  ${screen.strong(`${kubectl} exec -it deployment/${name} -- sh`)}`);
}

interface NewNode {
  readonly client: KubeClient;
  readonly kubeletPort: number;
  readonly context: Context;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

function newNode({ client, kubeletPort, context: { clock, random, hostName }, logger, metrics }: NewNode): VirtualNode {
  return new VirtualNode({
    client,
    provider,
    providerConfig: { pods: "500" },
    node: {
      name: demoNodeName,
      address: demoAddress,
      kubeletPort,
      kubeletVersionOf: (kubernetes) => kubeletVersionOf(kubernetes, versionInfo().virtualKubelet),
      instance: { identity: hostName },
    },
    clock,
    random,
    logger,
    metrics,
  });
}

function failIfEarly(code: number, signal: AbortSignal): void {
  if (!signal.aborted)
    throw new ProgramError("demo: the node ended; see above", code === exitCodes.ok.code ? exitCodes.failure.code : code);
}
