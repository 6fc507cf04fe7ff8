import type { DeepReadonly, EventRecorder, Pod } from "@virtual-kubelet/kube-client";
import { podRef } from "../../provider/pod-ref.ts";
import type { ProviderLimits } from "../../unsupported/provider-limits.ts";
import { unsupportedChanges } from "../../unsupported/unsupported-changes.ts";
import type { Verdict } from "../state/pod-state.ts";
import type { CoreReason } from "../../reasons/core-reasons.ts";

export interface PodEventsOptions {
  readonly recorder: Pick<EventRecorder, "event">;
  readonly providerName: string;
}

/** Records the events of pods. */
export class PodEvents {
  readonly #options: PodEventsOptions;

  constructor(options: PodEventsOptions) {
    this.#options = options;
  }

  /** Records a success. */
  normal(pod: DeepReadonly<Pod>, reason: CoreReason, message: string): void {
    this.#record(pod, "Normal", reason, message);
  }

  /** Records a problem. */
  warn(pod: DeepReadonly<Pod>, reason: CoreReason, message: string): void {
    this.#record(pod, "Warning", reason, message);
  }

  /** Records one event that names the fields that were not passed to the provider. */
  warnOmitted(pod: DeepReadonly<Pod>, paths: readonly string[]): void {
    if (paths.length === 0) return;
    const message = `provider ${this.#options.providerName} does not support these fields, which are left out: ${paths.join(", ")}`;
    this.warn(pod, "UnsupportedIgnored", message);
  }

  /** Records what a change asks for beyond the provider's limits. @returns whether there is any such thing */
  warnBeyond(limits: ProviderLimits, pod: DeepReadonly<Pod>, before: DeepReadonly<Pod>, after: DeepReadonly<Pod>): boolean {
    const messages = unsupportedChanges(before, after, { limits, providerName: this.#options.providerName });
    for (const message of messages) this.warn(pod, "ProviderUpdateFailed", message);
    return messages.length > 0;
  }

  /** Records a verdict, whose reason may be the provider's own. */
  judged(pod: DeepReadonly<Pod>, { kind, reason, message }: Verdict): void {
    this.#record(pod, kind === "expired" ? "Normal" : "Warning", reason, message);
  }

  #record(pod: DeepReadonly<Pod>, type: "Normal" | "Warning", reason: string, message: string): void {
    const { namespace, name, uid } = podRef(pod);
    this.#options.recorder.event({ apiVersion: "v1", kind: "Pod", namespace, name, uid }, type, reason, message);
  }
}
