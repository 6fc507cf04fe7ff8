interface Condition {
  readonly type: string;
  readonly status: "True" | "False";
  readonly lastTransitionTime: string;
  readonly reason: string;
  readonly message: string;
}

interface AutoscalerStatus {
  readonly lastScaleTime?: string;
  readonly currentReplicas?: number;
  readonly desiredReplicas: number;
  readonly currentMetrics?: readonly object[] | null;
  readonly conditions?: readonly Condition[];
}

/** Status of an autoscaler while it is computed. Source: Kubernetes v1.36.3 pkg/controller/podautoscaler/horizontal.go, `setStatus`. */
export class AutoscalerStatusDraft {
  readonly #now: string;
  #status: AutoscalerStatus;

  /** @param now - RFC 3339 */
  constructor(status: AutoscalerStatus, now: string) {
    this.#status = status;
    this.#now = now;
  }

  get status(): AutoscalerStatus {
    return this.#status;
  }

  /** Sets a condition. Its time changes only with its status. */
  set(type: string, status: "True" | "False", reason: string, message: string): void {
    const conditions = this.#status.conditions ?? [];
    const known = conditions.find((one) => one.type === type);
    const lastTransitionTime = known?.status === status ? known.lastTransitionTime : this.#now;
    const condition = { type, status, lastTransitionTime, reason, message };
    const next = known === undefined ? [...conditions, condition] : conditions.map((one) => (one === known ? condition : one));
    this.#status = { ...this.#status, conditions: next };
  }

  /** Sets the counts and the values of the metrics. */
  count(currentReplicas: number, desiredReplicas: number, currentMetrics: readonly object[] | undefined): void {
    this.#status = { ...this.#status, currentReplicas, desiredReplicas, currentMetrics: currentMetrics ?? null };
  }

  rescaled(): void {
    this.#status = { ...this.#status, lastScaleTime: this.#now };
  }
}
