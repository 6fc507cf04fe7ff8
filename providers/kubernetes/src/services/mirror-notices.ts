import { isForbidden, messageOf } from "@virtual-kubelet/errdefs";
import type { DeepReadonly, EventRecorder, Logger, Service } from "@virtual-kubelet/kube-client";
import { mirrorLabels, type MirrorDirection } from "./mirror-tags.ts";

/** Tells the owners of Services at home, in the log and by events, why a Service is not mirrored: once for each cause. */
export class MirrorNotices {
  readonly #recorder: Pick<EventRecorder, "event">;
  readonly #logger: Logger;
  /** The last message of each cause. */
  readonly #told = new Map<string, string>();

  constructor(recorder: Pick<EventRecorder, "event">, logger: Logger) {
    this.#recorder = recorder;
    this.#logger = logger;
  }

  /** Two home Services have one name in the far namespace. */
  clash(refused: DeepReadonly<Service>, chosen: DeepReadonly<Service> | undefined, farNamespace: string): void {
    this.#tell(
      `clash ${nameOf(refused)}`,
      refused,
      `service ${nameOf(refused)} is not mirrored to the far namespace ${farNamespace}: there the name belongs to the older service ${nameOf(chosen)}; give one of them another name, or map the namespaces with namespaces.mode same or prefix`,
    );
  }

  /** The name belongs to a Service that the mirror did not write. */
  taken(
    key: string,
    direction: MirrorDirection,
    chosen: DeepReadonly<Service> | undefined,
    stored: DeepReadonly<Service> | undefined,
  ): void {
    const [source, target] = direction === "toFar" ? ["home", "far"] : ["far", "home"];
    const writer = stored?.metadata?.labels?.[mirrorLabels.mirror];
    const reason = writer === undefined ? "is not a copy" : `is a copy that the virtual node ${writer} maintains`;
    this.#tell(
      key,
      direction === "toFar" ? chosen : stored,
      `the ${source} service ${nameOf(chosen)} is not mirrored: the ${target} service ${nameOf(stored)} ${reason}, and stays as it is; rename or delete one of the two`,
    );
  }

  /** Something refuses the copy. */
  failed(key: string, service: DeepReadonly<Service>, error: unknown): void {
    const remedy = isForbidden(error) ? "; virtual-kubelet manifests, and manifests far, print the rights" : "";
    this.#tell(key, service, `service ${nameOf(service)} is not mirrored: ${messageOf(error)}${remedy}`);
  }

  /** The cause is gone: if it comes back, it is told again. */
  settled(key: string): void {
    this.#told.delete(key);
  }

  /** No other Service has this one's name in the far namespace any more. */
  unrivaled(service: DeepReadonly<Service>): void {
    this.#told.delete(`clash ${nameOf(service)}`);
  }

  #tell(key: string, service: DeepReadonly<Service> | undefined, message: string): void {
    if (this.#told.get(key) === message) return;
    this.#told.set(key, message);
    const { namespace, name, uid } = service?.metadata ?? {};
    this.#logger.warn({ namespace, service: name }, message);
    if (service)
      this.#recorder.event({ apiVersion: "v1", kind: "Service", namespace, name, uid }, "Warning", "ServiceNotMirrored", message);
  }
}

function nameOf(service: DeepReadonly<Service> | undefined): string {
  return `${service?.metadata?.namespace}/${service?.metadata?.name}`;
}
