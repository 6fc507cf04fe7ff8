import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { PodOptions, UnsupportedPolicy } from "../virtual-node/options.ts";
import { IgnoredFields, type OmittedFields } from "./ignored-fields.ts";
import type { ProviderLimits } from "./provider-limits.ts";
import { withoutServiceAccountVolume } from "./service-account-volume.ts";

/** Returns the long form of `onUnsupported`. */
export function unsupportedPolicy(option: PodOptions["onUnsupported"]): Required<UnsupportedPolicy> {
  const { default: policy = "wait", ignore = [] } = typeof option === "object" ? option : { default: option };
  return { default: policy, ignore };
}

/** Derives the pods that are passed to a provider from those of the API server, by omitting unsupported fields that may be ignored. */
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

  /** Returns the pod for the provider, and the paths of the fields that were omitted. */
  of(pod: DeepReadonly<Pod>): OmittedFields {
    const base = this.#keepsToken ? pod : withoutServiceAccountVolume(pod);
    return this.#ignored.omitAll({ pod: base, paths: [] }, this.#limits);
  }

  /** As {@link IgnoredFields.tell}. */
  tell<T>(given: OmittedFields, call: (given: OmittedFields) => Promise<T>): Promise<T> {
    return this.#ignored.tell(given, call);
  }
}
