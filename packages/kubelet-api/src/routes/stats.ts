import { withDeadline } from "@virtual-kubelet/async";
import type { Clock } from "@virtual-kubelet/clock";
import { isUnsupported, messageOf } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, Logger, Pod } from "@virtual-kubelet/kube-client";
import {
  cpuAndMemoryOnly,
  kubeletSummary,
  NodeStatsReader,
  renderMetrics,
  renderResourceMetrics,
  resourceMetrics,
  resourceScrapeError,
  volumeMetrics,
  type MeasuredVolumes,
} from "@virtual-kubelet/metrics";
import { json, metricsText, type Answer } from "../server/answer.ts";
import { parseQuery } from "../server/query.ts";
import { cadvisorMetrics } from "./cadvisor-metrics.ts";
import { requireNode } from "./require-node.ts";
import type { Handler } from "./route.ts";
import type { ServedNode } from "./served-node.ts";

/** Time limit of reading the volumes for the program's own metrics, in milliseconds. */
const volumesMs = 5_000;

/** Stats of each node in three formats. Answers 501 if the provider measures nothing. */
export class StatsRoutes {
  readonly #readers: ReadonlyMap<ServedNode, NodeStatsReader>;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor({ nodes, clock, logger }: { readonly nodes: readonly ServedNode[]; readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
    this.#readers = new Map(
      nodes.map((node) => {
        const { access } = node;
        return [
          node,
          new NodeStatsReader({ nodeName: access.nodeName, getStatsSummary: (signal) => access.getStatsSummary(signal), clock }),
        ];
      }),
    );
  }

  /** `/stats/summary` */
  readonly summary: Handler = async (request) => {
    const only = parseQuery(request.query).all("only_cpu_and_memory");
    const summary = await this.#reader(requireNode(request)).read(request.signal);
    return { ...json(only.length === 1 && only[0] === "true" ? cpuAndMemoryOnly(summary) : kubeletSummary(summary)), isCompressible: true };
  };

  /** `/metrics/resource`: reports a provider failure in the metrics, as a kubelet does. */
  readonly resource: Handler = async (request) => {
    const node = requireNode(request);
    return this.#scrape(request.signal, async () => {
      const own = await node.access.getMetricsResource(request.signal);
      return renderResourceMetrics(own ?? resourceMetrics(await this.#reader(node).read(request.signal)));
    });
  };

  /** `/metrics/cadvisor`: the cAdvisor metrics that a stats summary has values for. */
  readonly cadvisor: Handler = async (request) => {
    const node = requireNode(request);
    const summary = await this.#reader(node).read(request.signal);
    return metricsText(renderMetrics(cadvisorMetrics(summary, node.access.listPods())));
  };

  /**
   * The metrics of a kubelet's `/metrics` for volumes behind claims, in Prometheus's text format. Only nodes whose pods have claims are
   * asked. A node that does not answer in time is left out, because the program's own metrics wait for these.
   */
  async volumes(signal: AbortSignal): Promise<string> {
    const nodes = [...this.#readers].filter(([{ access }]) => access.listPods().some(hasClaim));
    const measured = await Promise.all(nodes.map(([{ access }, reader]) => this.#volumesOf(access.nodeName, reader, signal)));
    return renderMetrics(volumeMetrics(measured.flat()));
  }

  async #volumesOf(nodeName: string, reader: NodeStatsReader, signal: AbortSignal): Promise<readonly MeasuredVolumes[]> {
    const deadline = { clock: this.#clock, timeoutMs: volumesMs, what: "measure volumes" };
    try {
      const { pods } = await withDeadline(deadline, signal, (inner) => reader.read(inner));
      return [{ nodeName, pods }];
    } catch (error) {
      signal.throwIfAborted();
      if (!isUnsupported(error)) this.#logger.debug({ node: nodeName, err: messageOf(error) }, "the volumes could not be measured");
      return [];
    }
  }

  #reader(node: ServedNode): NodeStatsReader {
    const reader = this.#readers.get(node);
    if (!reader) throw new Error(`node ${node.access.nodeName} has no reader of its stats`);
    return reader;
  }

  async #scrape(signal: AbortSignal, read: () => Promise<string>): Promise<Answer> {
    try {
      return metricsText(await read());
    } catch (error) {
      if (signal.aborted || isUnsupported(error)) throw error;
      this.#logger.warn({ err: messageOf(error) }, "the provider's stats could not be read");
      return metricsText(renderMetrics(resourceScrapeError()));
    }
  }
}

function hasClaim({ spec }: DeepReadonly<Pod>): boolean {
  return spec?.volumes?.some(({ persistentVolumeClaim, ephemeral }) => (persistentVolumeClaim ?? ephemeral) !== undefined) ?? false;
}
