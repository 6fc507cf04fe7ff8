import type { DeepReadonly, Pod } from "@virtual-kubelet/kube-client";
import type { PodOptions, UnsupportedPolicy } from "../virtual-node/options.ts";
import { IgnoredFields, type OmittedFields } from "./ignored-fields.ts";
import type { ProviderLimits } from "./provider-limits.ts";
import { withoutServiceAccountVolume } from "./service-account-volume.ts";

/** The long form of `onUnsupported`. */
export function unsupportedPolicy(option: PodOptions["onUnsupported"]): Required<UnsupportedPolicy> {
  const { default: policy = "wait", ignore = [] } = typeof option === "object" ? option : { default: option };
  return { default: policy, ignore };
}

/** Makes of the API server's pods those that a provider gets: without what they may not have and need not. */
export class GivenPods {
  readonly #limits: ProviderLimits;
  readonly #ignored: IgnoredFields;
  readonly #keepsToken: boolean;

  /** @throws InvalidInputError for a path to ignore that is none */
  constructor(limits: ProviderLimits, options: Pick<PodOptions, "onUnsupported" | "automountToken">) {
    this.#limits = limits;
    this.#keepsToken = limits.capabilities.volumes?.includes("projected") === true || options.automountToken === "require";
    this.#ignored = new IgnoredFields(unsupportedPolicy(options.onUnsupported).ignore);
  }

  /** The pod as the provider gets it, and what was left out of it that a user asked for. */
  of(pod: DeepReadonly<Pod>): OmittedFields {
    const base = this.#keepsToken ? pod : withoutServiceAccountVolume(pod);
    return this.#ignored.omitAll({ pod: base, paths: [] }, this.#limits);
  }

  /** As {@link IgnoredFields.tell}. */
  tell<T>(given: OmittedFields, call: (given: OmittedFields) => Promise<T>): Promise<T> {
    return this.#ignored.tell(given, call);
  }
}
