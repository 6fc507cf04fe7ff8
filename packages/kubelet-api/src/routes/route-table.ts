import type { Clock } from "@virtual-kubelet/clock";
import { renderMetrics } from "@virtual-kubelet/metrics";
import type { Logger } from "@virtual-kubelet/kube-client";
import type { StreamingLimits } from "@virtual-kubelet/streaming";
import { metricsText, text } from "../server/answer.ts";
import type { TlsSettings } from "../server/tls-options.ts";
import type { AuditOptions } from "../streams/audit.ts";
import { attachRoute, execRoute } from "../streams/remote-command.ts";
import { portForwardRoute } from "../streams/port-forward.ts";
import { runRoute } from "../streams/run.ts";
import type { StreamBudgets } from "../streams/stream-budgets.ts";
import type { StreamSlots } from "../streams/stream-slots.ts";
import { configzRoute } from "./configuration.ts";
import { containerLogsRoute } from "./container-logs.ts";
import { HealthChecks, kubeletChecks, type HealthCheck } from "./health.ts";
import { listPods, listRunningPods } from "./pods.ts";
import { probeMetrics } from "./probe-metrics.ts";
import type { Handler, Route } from "./route.ts";
import type { NodeDirectory } from "./served-node.ts";
import { StatsRoutes } from "./stats.ts";

export interface RouteTableOptions {
  readonly directory: NodeDirectory;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly slots: StreamSlots;
  readonly budgets: StreamBudgets;
  readonly streaming: StreamingLimits;
  readonly audit?: AuditOptions | undefined;
  /** Port that the server listens on. */
  readonly port: () => number;
  /** When the server started, in seconds since 1970. */
  readonly startedSeconds: number;
  /** The program's own metrics in Prometheus's text format. */
  readonly renderOwnMetrics: () => string | Promise<string>;
  /** Why the log accepts no lines; `undefined` while it does. Default: the log is not checked. */
  readonly logProblem?: (() => string | undefined) | undefined;
  readonly tls?: TlsSettings | undefined;
  /** Checks in addition to the kubelet's. */
  readonly healthChecks: readonly HealthCheck[];
}

const getOrPost = ["GET", "POST"];

/**
 * The kubelet's routes, in the order they are tried. Endpoints that a node without a machine cannot have answer like a kubelet that has
 * them disabled.
 *
 * Source: kubernetes v1.36.3 pkg/kubelet/server/server.go.
 */
export function routeTable(options: RouteTableOptions): readonly Route[] {
  const { directory, renderOwnMetrics, startedSeconds } = options;
  const health = new HealthChecks([...kubeletChecks(directory.nodes, options.logProblem), ...options.healthChecks]);
  const stats = new StatsRoutes({ ...options, nodes: directory.nodes });
  const streams = { ...options, limits: options.streaming };
  const exec = execRoute(streams);
  const attach = attachRoute(streams);
  const portForward = portForwardRoute(streams);
  const run = runRoute(streams);
  return [
    { path: "/healthz", methods: "any", handler: health.all },
    { path: "/healthz/{check}", methods: "any", handler: health.one },
    { path: "/pods", methods: ["GET"], handler: listPods },
    { path: "/runningpods", methods: ["GET"], handler: listRunningPods },
    { path: "/containerLogs/{namespace}/{pod}/{container}", methods: ["GET"], handler: containerLogsRoute(options) },
    { path: "/exec/{namespace}/{pod}/{container}", methods: getOrPost, handler: exec },
    { path: "/exec/{namespace}/{pod}/{uid}/{container}", methods: getOrPost, handler: exec },
    { path: "/attach/{namespace}/{pod}/{container}", methods: getOrPost, handler: attach },
    { path: "/attach/{namespace}/{pod}/{uid}/{container}", methods: getOrPost, handler: attach },
    { path: "/portForward/{namespace}/{pod}", methods: getOrPost, handler: portForward },
    { path: "/portForward/{namespace}/{pod}/{uid}", methods: getOrPost, handler: portForward },
    { path: "/run/{namespace}/{pod}/{container}", methods: ["POST"], handler: run },
    { path: "/run/{namespace}/{pod}/{uid}/{container}", methods: ["POST"], handler: run },
    { path: "/stats/summary", methods: getOrPost, handler: stats.summary },
    {
      path: "/metrics",
      methods: ["GET"],
      handler: async ({ signal }) => metricsText((await renderOwnMetrics()) + (await stats.volumes(signal))),
    },
    { path: "/metrics/resource", methods: ["GET"], handler: stats.resource },
    { path: "/metrics/cadvisor", methods: ["GET"], handler: stats.cadvisor },
    {
      path: "/metrics/probes",
      methods: ["GET"],
      handler: async ({ signal }) => metricsText(renderMetrics(await probeMetrics(directory.nodes, startedSeconds, signal))),
    },
    { path: "/metrics/slis", methods: ["GET"], handler: health.slis },
    { path: "/configz", methods: ["GET"], handler: configzRoute(options) },
    {
      path: "/checkpoint/{namespace}/{pod}/{container}",
      methods: ["POST"],
      handler: off(404, "checkpoints are not supported by a virtual node."),
    },
    { path: "/logs/{path...}", methods: ["GET"], handler: off(405, "logs endpoint is disabled.") },
    { path: "/debug/pprof/{path...}", methods: ["GET"], handler: off(405, "profiling endpoint is disabled.") },
    { path: "/debug/flags/v", methods: ["PUT"], handler: off(405, "flags endpoint is disabled.") },
  ];
}

function off(status: 404 | 405, message: string): Handler {
  return () => text(message, status);
}
