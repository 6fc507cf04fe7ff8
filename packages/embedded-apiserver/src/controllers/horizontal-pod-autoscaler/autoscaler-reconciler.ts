import { rfc3339 } from "@virtual-kubelet/kubernetes";
import { ApiStatusError } from "../../errors/api-status-error.ts";
import { isJsonObject } from "../../json/json-value.ts";
import type { ApiObject, Kind } from "../../kinds/kind.ts";
import type { AutoscalerSpec } from "../../kinds/plain/autoscaler-fields.ts";
import { horizontalPodAutoscalerKind } from "../../kinds/plain/autoscaling.ts";
import { podKind } from "../../kinds/pod/pod.ts";
import { type Steps, WriteWaits } from "../../rest/steps.ts";
import { type LabelMatcher, parseLabelSelector } from "../../selectors/label-selector.ts";
import type { ControllerContext } from "../shared/controller-context.ts";
import { parseKey } from "../shared/object-key.ts";
import { replaceStatus } from "../shared/status-write.ts";
import { AutoscalerStatusDraft } from "./autoscaler-status.ts";
import { MetricProblem, type MetricProposal, proposeReplicas, type ScaledTarget, tolerancesOf } from "./metric-proposal.ts";
import { MetricsClient, type MetricsRequest } from "./metrics-client.ts";
import { normalizeReplicas, type ScalingHistory, withDecision } from "./scaling-rules.ts";

const component = "horizontal-pod-autoscaler";
const emptyHistory: ScalingHistory = { recommendations: [], changes: [] };

/** The object that an autoscaler scales. */
interface Target {
  readonly kind: Kind;
  readonly replicas: number;
  readonly statusReplicas: number;
  /** `""` if the Scale has none. */
  readonly selector: string;
  /** The selector; `undefined` if the Scale has none. */
  readonly matcher: LabelMatcher | undefined;
}

/** Reconciles autoscalers. Source: Kubernetes v1.36.3 pkg/controller/podautoscaler/horizontal.go, `reconcileAutoscaler`. */
export class AutoscalerReconciler {
  readonly #context: ControllerContext;
  readonly #client: MetricsClient;
  readonly #histories = new Map<string, ScalingHistory>();
  /** Selectors of the targets by autoscaler, to find pods that two autoscalers claim. */
  readonly #selectors = new Map<string, LabelMatcher>();

  /** @param request - GET request of the server itself */
  constructor(context: ControllerContext, request: MetricsRequest) {
    this.#context = context;
    this.#client = new MetricsClient(request);
  }

  /** Drops what is remembered of a deleted autoscaler. */
  forget(key: string): void {
    this.#histories.delete(key);
    this.#selectors.delete(key);
  }

  /**
   * Computes and writes the replicas of an autoscaler's target, and the autoscaler's status. Waits only for metrics of other servers and for
   * webhooks.
   */
  *reconcile(key: string, autoscaler: Readonly<ApiObject>): Steps<void> {
    const spec: AutoscalerSpec = autoscaler["spec"];
    const draft = new AutoscalerStatusDraft(autoscaler["status"], rfc3339(this.#context.clock.now()));
    const warn = (reason: string, message: string): void =>
      this.#context.events.record(component, autoscaler, { type: "Warning", reason, message });
    const write = (): void => this.#writeStatus(autoscaler, draft);
    const target = yield* this.#targetOf(autoscaler);
    if (typeof target === "string") {
      warn("FailedGetScale", target);
      draft.set("AbleToScale", "False", "FailedGetScale", `the HPA controller was unable to get the target's current scale: ${target}`);
      write();
      return;
    }
    draft.set("AbleToScale", "True", "SucceededGetScale", "the HPA controller was able to get the target's current scale");
    const { replicas } = target;
    if (!this.#histories.has(key))
      this.#histories.set(key, withDecision(emptyHistory, { recommendation: replicas, from: 0, to: 0, nowMs: this.#context.clock.now() }));
    const bounds = outOfBounds(spec, replicas);
    let wanted = bounds?.replicas ?? replicas;
    let reason = bounds?.reason ?? "";
    let current: readonly object[] | undefined;
    if (replicas === 0) {
      draft.set("ScalingActive", "False", "ScalingDisabled", "scaling is disabled since the replica count of the target is zero");
    } else if (bounds === undefined) {
      const demanded = yield* this.#demand(key, autoscaler, target, draft);
      if ("problem" in demanded) {
        draft.count(replicas, draft.status.desiredReplicas, demanded.statuses);
        write();
        warn("FailedComputeMetricsReplicas", demanded.problem);
        return;
      }
      ({ statuses: current } = demanded);
      if (demanded.replicas > replicas) reason = `${demanded.name} above target`;
      else if (demanded.replicas < replicas) reason = "All metrics below target";
      const history = this.#histories.get(key) ?? emptyHistory;
      const desired = Math.max(demanded.replicas, 0);
      const normalized = normalizeReplicas({ spec, history, replicas, desired, nowMs: this.#context.clock.now() });
      draft.set("AbleToScale", "True", normalized.able.reason, normalized.able.message);
      draft.set("ScalingLimited", normalized.limited.isLimited ? "True" : "False", normalized.limited.reason, normalized.limited.message);
      wanted = normalized.replicas;
      this.#histories.set(key, withDecision(history, { recommendation: desired, from: 0, to: 0, nowMs: this.#context.clock.now() }));
    }
    const isRescaled = replicas !== 0 && wanted !== replicas;
    if (isRescaled && !(yield* this.#rescale(autoscaler, target, { replicas: wanted, reason, draft }))) {
      draft.count(replicas, draft.status.desiredReplicas, current);
      write();
      return;
    }
    if (isRescaled) {
      // Only policies look at earlier changes.
      if (spec.behavior !== undefined) this.#rememberChange(key, replicas, wanted);
      draft.rescaled();
    }
    draft.count(replicas, wanted, current);
    write();
  }

  #rememberChange(key: string, from: number, to: number): void {
    const change = { recommendation: undefined, from, to, nowMs: this.#context.clock.now() };
    this.#histories.set(key, withDecision(this.#histories.get(key) ?? emptyHistory, change));
  }

  /** The object in `scaleTargetRef`, or why it cannot be scaled. */
  *#targetOf({ metadata, spec }: Readonly<ApiObject>): Steps<Target | string> {
    const { kind: kindName = "", name = "", apiVersion = "" } = (spec as AutoscalerSpec).scaleTargetRef;
    const group = apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
    const kinds = this.#context.cluster.kinds().filter((one) => one.kind === kindName && one.group === group);
    const kind = kinds.find((one) => one.hasScale === true) ?? kinds[0];
    if (kind === undefined) return `no matches for kind "${kindName}" in group "${group}"`;
    if (kind.hasScale !== true) return "the server could not find the requested resource";
    try {
      const scale = yield* this.#context.cluster.readScale(kind, metadata.namespace ?? "", name);
      const [wanted, status] = [isJsonObject(scale["spec"]) ? scale["spec"] : {}, isJsonObject(scale["status"]) ? scale["status"] : {}];
      const selector = typeof status["selector"] === "string" ? status["selector"] : "";
      const parsed = tryParseSelector(selector);
      // Source: k8s.io/client-go v0.36.3 scale/client.go and scale/scheme/autoscalingv1/conversion.go.
      if (parsed instanceof ApiStatusError)
        return `received an object from a /scale endpoint which was not convertible to autoscaling Scale: failed to parse target selector: couldn't parse the selector string ${JSON.stringify(selector)}: ${parsed.message}`;
      return {
        kind,
        replicas: Number(wanted["replicas"] ?? 0),
        statusReplicas: Number(status["replicas"] ?? 0),
        selector,
        matcher: parsed,
      };
    } catch (error) {
      if (error instanceof ApiStatusError) return error.message;
      throw error;
    }
  }

  /** Replicas that the metrics demand together: the most of them. */
  *#demand(
    key: string,
    autoscaler: Readonly<ApiObject>,
    target: Target,
    draft: AutoscalerStatusDraft,
  ): Steps<(MetricProposal & { statuses: readonly object[] }) | { problem: string; statuses: readonly object[] | undefined }> {
    const spec: AutoscalerSpec = autoscaler["spec"];
    const pods = this.#selectPods(key, autoscaler, target, draft);
    if (typeof pods === "string") return { problem: pods, statuses: undefined };
    const { namespace = "" } = autoscaler.metadata;
    const { replicas, statusReplicas, selector } = target;
    const scaled: ScaledTarget = {
      namespace,
      replicas,
      statusReplicas,
      selector,
      pods,
      kinds: this.#context.cluster.kinds(),
      nowMs: this.#context.clock.now(),
    };
    const { metrics = [] } = spec;
    const statuses: object[] = [];
    const problems: MetricProblem[] = [];
    let highest: MetricProposal | undefined;
    for (const metric of metrics) {
      try {
        const proposal = yield* proposeReplicas(this.#client, metric, scaled, tolerancesOf(spec));
        statuses.push(proposal.status);
        if (highest === undefined || highest.replicas === 0 || proposal.replicas > highest.replicas) highest = proposal;
      } catch (error) {
        if (!(error instanceof MetricProblem)) throw error;
        this.#context.events.record(component, autoscaler, { type: "Warning", reason: error.reason, message: error.detail });
        statuses.push({ type: "" });
        problems.push(error);
      }
    }
    const [first] = problems;
    if (first !== undefined && (highest === undefined || highest.replicas < replicas)) {
      draft.set("ScalingActive", "False", first.reason, `the HPA was unable to compute the replica count: ${first.detail}`);
      const problem = `invalid metrics (${problems.length} invalid out of ${metrics.length}), first error is: ${first.message}`;
      return { problem, statuses };
    }
    const found = highest ?? { replicas, name: "", status: {} };
    draft.set("ScalingActive", "True", "ValidMetricFound", `the HPA was able to successfully calculate a replica count from ${found.name}`);
    return { ...found, statuses };
  }

  /** Pods of the target, or why they cannot be counted. */
  #selectPods(
    key: string,
    autoscaler: Readonly<ApiObject>,
    { selector, matcher }: Target,
    draft: AutoscalerStatusDraft,
  ): readonly Readonly<ApiObject>[] | string {
    const refuse = (reason: string, message: string, condition: string = message): string => {
      this.#context.events.record(component, autoscaler, { type: "Warning", reason, message });
      draft.set("ScalingActive", "False", reason === "SelectorRequired" ? "InvalidSelector" : reason, condition);
      return message;
    };
    if (matcher === undefined) return refuse("SelectorRequired", "selector is required", "the HPA target's scale is missing a selector");
    this.#selectors.set(key, matcher);
    const { namespace } = autoscaler.metadata;
    const pods = this.#context.cluster.list(podKind, namespace).filter(({ metadata }) => matcher(metadata.labels ?? {}));
    const rivals = [...this.#selectors]
      .filter(([other, matches]) => parseKey(other).namespace === namespace && pods.some(({ metadata }) => matches(metadata.labels ?? {})))
      .map(([other]) => `{${namespace} ${parseKey(other).name}}`);
    return rivals.length > 1
      ? refuse("AmbiguousSelector", `pods by selector ${selector} are controlled by multiple HPAs: [${rivals.join(" ")}]`)
      : pods;
  }

  /** The write goes on alone if it has to wait for a webhook, because nothing depends on it. */
  #writeStatus(autoscaler: Readonly<ApiObject>, draft: AutoscalerStatusDraft): void {
    const { cluster, onError } = this.#context;
    try {
      replaceStatus(cluster, horizontalPodAutoscalerKind, autoscaler, draft.status);
    } catch (error) {
      if (!(error instanceof WriteWaits)) throw error;
      error.settled.catch(onError);
    }
  }

  /** Writes the replicas. @returns whether that succeeded */
  *#rescale(
    autoscaler: Readonly<ApiObject>,
    { kind }: Target,
    { replicas, reason, draft }: { replicas: number; reason: string; draft: AutoscalerStatusDraft },
  ): Steps<boolean> {
    const { name = "" } = (autoscaler["spec"] as AutoscalerSpec).scaleTargetRef;
    try {
      yield* this.#context.cluster.writeScale(kind, autoscaler.metadata.namespace ?? "", name, replicas);
    } catch (error) {
      if (!(error instanceof ApiStatusError)) throw error;
      const message = `New size: ${replicas}; reason: ${reason}; error: ${error.message}`;
      this.#context.events.record(component, autoscaler, { type: "Warning", reason: "FailedRescale", message });
      draft.set("AbleToScale", "False", "FailedUpdateScale", `the HPA controller was unable to update the target scale: ${error.message}`);
      return false;
    }
    const text = `the HPA controller was able to update the target scale to ${replicas}`;
    draft.set("AbleToScale", "True", "SucceededRescale", text);
    this.#context.events.record(component, autoscaler, {
      type: "Normal",
      reason: "SuccessfulRescale",
      message: `New size: ${replicas}; reason: ${reason}`,
    });
    return true;
  }
}

/** @returns `undefined` for an empty selector, and the problem of an invalid one */
function tryParseSelector(selector: string): LabelMatcher | ApiStatusError | undefined {
  try {
    return parseLabelSelector(selector);
  } catch (error) {
    if (error instanceof ApiStatusError) return error;
    throw error;
  }
}

/** Replicas for a target outside of the autoscaler's bounds, which needs no metrics. */
function outOfBounds(
  { minReplicas = 1, maxReplicas = 0 }: AutoscalerSpec,
  replicas: number,
): { replicas: number; reason: string } | undefined {
  if (replicas === 0) return undefined;
  if (replicas > maxReplicas) return { replicas: maxReplicas, reason: "Current number of replicas above Spec.MaxReplicas" };
  return replicas < minReplicas ? { replicas: minReplicas, reason: "Current number of replicas below Spec.MinReplicas" } : undefined;
}
