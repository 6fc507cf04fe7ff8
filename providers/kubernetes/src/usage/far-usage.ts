import { untilAborted } from "@virtual-kubelet/async";
import { isTerminalPhase, type PodStats, type StatsSummary } from "@virtual-kubelet/core";
import { DeadlineExceededError, isForbidden, isNotFound, messageOf, UnsupportedError } from "@virtual-kubelet/errdefs";
import type { FarNode } from "../far/far-node.ts";
import { ownPodRef } from "../identity/own-pod.ts";
import { ownerSelector } from "../identity/tags.ts";
import type { KubernetesReason } from "../reasons.ts";
import type { FarFigures } from "./far-figures.ts";
import { fromKubelet, fromMetricsApi, unmeasured, type PodPair } from "./home-stats.ts";
import { ProcessorTotals } from "./processor-totals.ts";
import { kubeletsForbidden, metricsApiProblem } from "./usage-source.ts";

/** Maximum time that a reader waits: metrics-server waits for ten seconds. */
const waitMs = 5_000;
/** Time for which a missing right is not tried again. */
const forbiddenMs = 300_000;
/** Number of problems that a summary names. */
const maxProblems = 3;

/** What {@link FarUsage} reads of its node. */
export type UsageNode = Pick<FarNode, "owner" | "namespaces"> & {
  readonly host: Pick<FarNode["host"], "clock" | "findPod" | "logger" | "recordNodeEvent">;
  readonly config: Pick<FarNode["config"], "usage">;
  readonly far: Pick<FarNode["far"], "podsOf">;
};

/**
 * Usage of a node's pods, from the far kubelets or from the far metrics API. What cannot be measured is left out, and the summary says why; so
 * does an event of the node, once, if the far cluster has no source. The node's own figures are the sum of its pods.
 */
export class FarUsage {
  readonly #node: UsageNode;
  readonly #figures: Pick<FarFigures, "ofFarNode" | "ofMetricsApi">;
  readonly #totals = new ProcessorTotals();
  /** Monotonic time until which the far kubelets are not asked. */
  #forbiddenUntilMs = -Infinity;
  /** Why there is no source of figures, as told last; `undefined` if there is one. */
  #told: string | undefined;

  constructor(node: UsageNode, figures: Pick<FarFigures, "ofFarNode" | "ofMetricsApi">) {
    this.#node = node;
    this.#figures = figures;
  }

  /** @throws UnsupportedError if the configuration wants no figures; `signal.reason` */
  async summary(signal: AbortSignal): Promise<StatsSummary> {
    const { usage } = this.#node.config;
    signal.throwIfAborted();
    if (usage === "none") throw new UnsupportedError("usage is none in the provider's configuration, so that nothing is measured");
    const pairs = this.#pairs();
    if (pairs.length === 0) return { pods: [] };
    if (usage !== "metrics-api" && !this.#isForbidden) {
      const summary = await this.#fromKubelets(pairs, signal);
      if (!this.#isForbidden) return summary;
    }
    return usage === "kubelets" ? this.#withoutSource(kubeletsForbidden) : this.#fromMetricsApi(pairs, signal);
  }

  /** The summary if the far cluster has no source of figures. */
  #withoutSource(why: string): StatsSummary {
    const { host } = this.#node;
    if (why !== this.#told) {
      const reason: KubernetesReason = "FarUsageUnavailable";
      host.recordNodeEvent?.({ type: "Warning", reason, message: why });
      host.logger.warn({ err: why }, "the usage of far pods cannot be read");
    }
    this.#told = why;
    return { pods: [], incomplete: why };
  }

  get #isForbidden(): boolean {
    return this.#node.host.clock.monotonic() < this.#forbiddenUntilMs;
  }

  /** The node's pods that have a far node and have not ended. */
  #pairs(): readonly PodPair[] {
    const { far, owner, host } = this.#node;
    const pairs: PodPair[] = [];
    for (const farPod of far.podsOf(owner)) {
      const ref = ownPodRef(farPod.metadata, owner);
      if (ref && farPod.spec?.nodeName && !isTerminalPhase(farPod.status?.phase)) pairs.push({ ref, farPod, homePod: host.findPod(ref) });
    }
    return pairs;
  }

  async #fromKubelets(pairs: readonly PodPair[], signal: AbortSignal): Promise<StatsSummary> {
    const byNode = Map.groupBy(pairs, ({ farPod }) => farPod.spec?.nodeName ?? "");
    const problems: string[] = [];
    const pods = await Promise.all(
      [...byNode].map(async ([name, ofNode]): Promise<readonly PodStats[]> => {
        try {
          const figures = await this.#inTime(this.#figures.ofFarNode(name), signal);
          return ofNode.flatMap((pair) => {
            const stats = figures.get(pair.farPod.metadata?.uid ?? "");
            return stats ? [fromKubelet(stats, pair)] : unmeasured(pair);
          });
        } catch (error) {
          signal.throwIfAborted();
          if (isForbidden(error)) this.#forbiddenUntilMs = this.#node.host.clock.monotonic() + forbiddenMs;
          problems.push(`far node ${name}: ${messageOf(error)}`);
          return [];
        }
      }),
    );
    if (!this.#isForbidden) this.#told = undefined;
    return summaryOf(pods.flat(), problems);
  }

  async #fromMetricsApi(pairs: readonly PodPair[], signal: AbortSignal): Promise<StatsSummary> {
    const { owner, namespaces } = this.#node;
    const selector = ownerSelector({ clusterId: owner.clusterId });
    try {
      const figures = await this.#inTime(this.#figures.ofMetricsApi(selector, namespaces.only), signal);
      const used = new Set<string>();
      const pods = pairs.flatMap((pair) => {
        const { namespace, name } = pair.farPod.metadata ?? {};
        const usage = figures.get(`${namespace}/${name}`);
        const stats = usage && fromMetricsApi(usage, pair, this.#totals, used);
        return stats ? [stats] : unmeasured(pair);
      });
      this.#totals.keep(used);
      this.#told = undefined;
      return summaryOf(pods, []);
    } catch (error) {
      signal.throwIfAborted();
      const why = metricsApiProblem(error);
      return isForbidden(error) || isNotFound(error) ? this.#withoutSource(why) : { pods: [], incomplete: why };
    }
  }

  /** Waits for figures, for as long as a reader of the summary does. */
  async #inTime<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
    const late = Promise.withResolvers<never>();
    const { clock } = this.#node.host;
    using _timer = clock.setTimer(waitMs, () => late.reject(new DeadlineExceededError(`no figures within ${waitMs / 1000} s`)));
    return await untilAborted(Promise.race([work, late.promise]), signal);
  }
}

function summaryOf(pods: readonly PodStats[], problems: readonly string[]): StatsSummary {
  if (problems.length === 0) return { pods };
  const more = problems.length > maxProblems ? `; and ${problems.length - maxProblems} more` : "";
  return { pods, incomplete: `${problems.slice(0, maxProblems).join("; ")}${more}` };
}
