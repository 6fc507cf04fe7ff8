/** An alert about nodes of this project. */
export interface Alert {
  /** Without the prefix `VirtualKubelet`. */
  readonly name: string;
  readonly severity: "critical" | "warning" | "info";
  /** PromQL; each result is one alert. */
  readonly expr: string;
  /** How long it must hold, such as `5m`. Default: at once. */
  readonly for?: string | undefined;
  /** One line, with labels as `{{ $labels.node }}`. */
  readonly summary: string;
  /** What it means, and what to do. */
  readonly description: string;
}

/** Restricts metrics that other programs have too, such as a kubelet's, to processes that run virtual nodes. */
export function ofVirtualNodes(expr: string): string {
  return `(${expr}) and on (job, instance) vk_provider_up`;
}

/** Whether a counter has risen within a time, also by appearing: one with labels appears with its first event, which increase() does not see. */
export function hasRisen(counter: string, within: string): string {
  return `increase(${counter}[${within}]) > 0 or ${counter} unless ${counter} offset ${within}`;
}
