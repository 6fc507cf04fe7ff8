import type { DeepReadonly, Logger, Pod } from "@virtual-kubelet/kube-client";
import { isQualifiedName } from "@virtual-kubelet/kubernetes";
import { describedValue } from "../../provider-calls/described-value.ts";
import type { ProviderPodStatus } from "../../provider/pod-lifecycle.ts";
import { podRef } from "../../provider/pod-ref.ts";
import { containerStatusParts, isForWindows, type OnLeftOut } from "./container-status-parts.ts";
import { canonicalIP } from "./pod-addresses.ts";

/** Logs the values of providers' reports that are left out of pods' statuses, because the API server would refuse the whole status for them. */
export class LeftOutValues {
  readonly #logger: Logger;
  readonly #providerName: string;
  /** Fields that were logged, by the pod's UID. */
  readonly #logged = new Map<string, Set<string>>();

  constructor({ logger, providerName }: { readonly logger: Logger; readonly providerName: string }) {
    this.#logger = logger;
    this.#providerName = providerName;
  }

  /** Logs the values of a report, each field of a pod once. */
  log(pod: DeepReadonly<Pod>, status: ProviderPodStatus): void {
    const { namespace, name, uid } = podRef(pod);
    const logged = this.#logged.get(uid) ?? new Set();
    const problems: string[] = [];
    findLeftOut(pod, status, (field, value, expected) => {
      if (!logged.has(field)) problems.push(`${field} is ${describedValue(value)}, expected ${expected}`);
      logged.add(field);
    });
    if (problems.length === 0) return;
    this.#logged.set(uid, logged);
    this.#logger.warn(
      { pod: `${namespace}/${name}`, uid, provider: this.#providerName, problems },
      "provider reported values that the API server would refuse; they are left out of the pod's status",
    );
  }

  /** Drops the data of a pod that is gone. */
  forget(uid: string): void {
    this.#logged.delete(uid);
  }
}

function findLeftOut(pod: DeepReadonly<Pod>, status: ProviderPodStatus, onLeftOut: OnLeftOut): void {
  const { containers, initContainers, ephemeralContainers } = pod.spec ?? { containers: [] };
  const isWindows = isForWindows(pod);
  findConditions(status, onLeftOut);
  findAddresses(status, onLeftOut);
  for (const [kind, field, specs] of [
    ["init", "initContainerStatuses", initContainers],
    ["main", "containerStatuses", containers],
    ["ephemeral", "ephemeralContainerStatuses", ephemeralContainers],
  ] as const)
    for (const [index, each] of (status[field] ?? []).entries()) {
      const container = specs?.find(({ name }) => name === each.name);
      const onPart: OnLeftOut = (part, value, expected) => onLeftOut(`${field}[${index}].${part}`, value, expected);
      if (container) containerStatusParts(each, { kind, container, isWindows }, onPart);
    }
}

function findConditions({ conditions = [] }: ProviderPodStatus, onLeftOut: OnLeftOut): void {
  for (const [index, { type }] of conditions.entries())
    if (!isQualifiedName(type)) onLeftOut(`conditions[${index}].type`, type, "a name such as Ready or example.com/ready");
}

function findAddresses({ podIP, podIPs = [], hostIP, hostIPs = [] }: ProviderPodStatus, onLeftOut: OnLeftOut): void {
  const addresses: readonly (readonly [field: string, address: string | undefined])[] = [
    ["podIP", podIP],
    ...podIPs.map(({ ip }, index) => [`podIPs[${index}].ip`, ip] as const),
    ["hostIP", hostIP],
    ...hostIPs.map(({ ip }, index) => [`hostIPs[${index}].ip`, ip] as const),
  ];
  for (const [field, address] of addresses) if (address && canonicalIP(address) === undefined) onLeftOut(field, address, "an IP address");
}
