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
    const problems: string[] = [];
    findLeftOut(pod, status, (field, value, expected) => {
      const logged = this.#logged.get(uid) ?? new Set();
      if (!logged.has(field)) problems.push(`${field} is ${describedValue(value)}, expected ${expected}`);
      this.#logged.set(uid, logged.add(field));
    });
    if (problems.length === 0) return;
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
  const isWindows = isForWindows(pod);
  findConditions(status, onLeftOut);
  findAddresses(status, onLeftOut);
  for (const { kind, statuses, containers } of lists)
    status[statuses]?.forEach((each, index) => {
      // Most statuses have none of the fields that are validated.
      if (!each.allocatedResourcesStatus && !each.volumeMounts && !each.user) return;
      const container = pod.spec?.[containers]?.find(({ name }) => name === each.name);
      const onPart: OnLeftOut = (part, value, expected) => onLeftOut(`${statuses}[${index}].${part}`, value, expected);
      if (container) containerStatusParts(each, { kind, container, isWindows }, onPart);
    });
}

const lists = [
  { kind: "init", statuses: "initContainerStatuses", containers: "initContainers" },
  { kind: "main", statuses: "containerStatuses", containers: "containers" },
  { kind: "ephemeral", statuses: "ephemeralContainerStatuses", containers: "ephemeralContainers" },
] as const;

function findConditions({ conditions = [] }: ProviderPodStatus, onLeftOut: OnLeftOut): void {
  for (const [index, { type }] of conditions.entries())
    if (!isQualifiedName(type)) onLeftOut(`conditions[${index}].type`, type, "a name such as Ready or example.com/ready");
}

function findAddresses({ podIP, podIPs = [], hostIP, hostIPs = [] }: ProviderPodStatus, onLeftOut: OnLeftOut): void {
  const isWrong = (address: string | undefined): boolean => Boolean(address) && canonicalIP(address) === undefined;
  const expected = "an IP address";
  if (isWrong(podIP)) onLeftOut("podIP", podIP, expected);
  podIPs.forEach(({ ip }, index) => isWrong(ip) && onLeftOut(`podIPs[${index}].ip`, ip, expected));
  if (isWrong(hostIP)) onLeftOut("hostIP", hostIP, expected);
  hostIPs.forEach(({ ip }, index) => isWrong(ip) && onLeftOut(`hostIPs[${index}].ip`, ip, expected));
}
