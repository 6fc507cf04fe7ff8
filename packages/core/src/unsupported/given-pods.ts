import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { PodOptions, UnsupportedPolicy } from "../virtual-node/options.ts";
import { IgnoredFields, type OmittedFields } from "./ignored-fields.ts";
import type { ProviderLimits } from "./provider-limits.ts";
import { withoutRefusedAnnotations, withoutRefusedContainers } from "../policy/within-policy.ts";
import { withoutServiceAccountVolume } from "./service-account-volume.ts";

/** Returns the long form of `onUnsupported`. */
export function unsupportedPolicy(option: PodOptions["onUnsupported"]): Required<UnsupportedPolicy> {
  const { default: policy = "wait", ignore = [] } = typeof option === "object" ? option : { default: option };
  return { default: policy, ignore };
}

/** A pod for a provider. */
export interface GivenPod extends OmittedFields {
  /** The same with what the policy refuses, to tell of it. */
  readonly asked: DeepReadonly<Pod>;
}

/**
 * Derives the pods that are passed to a provider from those of the API server: without unsupported fields that may be ignored, and without what
 * the policy refuses of a pod that runs.
 */
export class GivenPods {
  readonly #limits: ProviderLimits;
  readonly #ignored: IgnoredFields;
  readonly #keepsToken: boolean;

  /** @throws InvalidInputError for a path that cannot be ignored */
  constructor(limits: ProviderLimits, options: Pick<PodOptions, "onUnsupported" | "automountToken">) {
    this.#limits = limits;
    this.#keepsToken = limits.capabilities.volumes?.includes("projected") === true || options.automountToken === "require";
    this.#ignored = new IgnoredFields(unsupportedPolicy(options.onUnsupported).ignore);
  }

  /** Returns a pod to start, and the paths of the fields that were omitted. */
  of(pod: DeepReadonly<Pod>): GivenPod {
    const base = this.#keepsToken ? pod : withoutServiceAccountVolume(pod);
    const { pod: asked, paths } = this.#ignored.omitAll({ pod: base, paths: [] }, this.#limits);
    return { pod: withoutRefusedContainers(asked, this.#limits), paths, asked };
  }

  /** As {@link of}, for a pod that was started: annotations that the policy refuses were added since. */
  ofStarted(pod: DeepReadonly<Pod>): GivenPod {
    const given = this.of(pod);
    return { ...given, pod: withoutRefusedAnnotations(given.pod, this.#limits) };
  }

  /** As {@link IgnoredFields.tell}. */
  tell<T>(given: OmittedFields, call: (given: OmittedFields) => Promise<T>): Promise<T> {
    return this.#ignored.tell(given, call);
  }
}
