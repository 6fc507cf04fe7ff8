import { isIPv4 } from "node:net";
import { allContainersCouldRestart, shouldRestart } from "@virtual-kubelet/kubernetes";
import type { FieldError } from "../kind.ts";
import { labelKeyProblems } from "../validation/label-syntax.ts";
import { forbiddenField, invalidValue } from "../validation/field-errors.ts";
import { each } from "../validation/labels.ts";
import { dnsSubdomainProblems, ipProblems } from "../validation/names.ts";
import type { Container, ContainerStatus, PodSpec, PodStatus } from "./pod-fields.ts";
import { claimStatusErrors, extendedClaimStatusErrors } from "./validate-claim-statuses.ts";
import { allocatedResourcesErrors, containerUserErrors, noAllocatedResourcesErrors } from "./validate-container-statuses.ts";

const systemConditions: ReadonlySet<string> = new Set(["PodScheduled", "Ready", "Initialized"]);

/** Source: Kubernetes v1.36.3 pkg/apis/core/validation/validation.go, ValidatePodStatusUpdate. */
export function podStatusErrors(status: PodStatus, old: PodStatus, spec: PodSpec): FieldError[] {
  const { nominatedNodeName: nominated } = status;
  const errors = (status.conditions ?? []).flatMap(({ type, observedGeneration }, index) => [
    ...generationErrors(observedGeneration, `status.conditions[${index}].observedGeneration`),
    ...(systemConditions.has(type) ? [] : each(`status.conditions[${index}].Type`, type, labelKeyProblems(type))),
  ]);
  if (nominated !== undefined && nominated !== old.nominatedNodeName) {
    errors.push(...each("status.nominatedNodeName", nominated, dnsSubdomainProblems(nominated)));
    if (spec.nodeName !== undefined)
      errors.push(forbiddenField("status.nominatedNodeName", "may not be set on pods that are already bound to a node"));
  }
  errors.push(...generationErrors(status.observedGeneration, "status.observedGeneration"));
  if (status.qosClass !== old.qosClass) errors.push(invalidValue("status.qosClass", status.qosClass ?? "", "field is immutable"));
  return [
    ...errors,
    ...transitionErrors(status.containerStatuses, old.containerStatuses, "status.containerStatuses", (name, exitCode) =>
      mayRestart(spec, spec.containers, name, exitCode),
    ),
    ...transitionErrors(status.initContainerStatuses, old.initContainerStatuses, "status.initContainerStatuses", (name, exitCode) =>
      mayRestart(spec, spec.initContainers, name, exitCode),
    ),
    ...transitionErrors(
      status.ephemeralContainerStatuses,
      old.ephemeralContainerStatuses,
      "status.ephemeralContainerStatuses",
      () => false,
    ),
    ...claimStatusErrors(status.resourceClaimStatuses, spec),
    ...extendedClaimStatusErrors(status.extendedResourceClaimStatus, spec),
    ...addressErrors(status.podIPs, old.podIPs, "status.podIPs"),
    ...hostAddressErrors(status, old),
    ...containerUserErrors(status.containerStatuses, "status.containerStatuses", spec),
    ...containerUserErrors(status.initContainerStatuses, "status.initContainerStatuses", spec),
    ...containerUserErrors(status.ephemeralContainerStatuses, "status.ephemeralContainerStatuses", spec),
    ...allocatedResourcesErrors(status.containerStatuses, "status.containerStatuses", spec.containers),
    ...allocatedResourcesErrors(status.initContainerStatuses, "status.initContainerStatuses", spec.initContainers),
    ...noAllocatedResourcesErrors(status.ephemeralContainerStatuses, "status.ephemeralContainerStatuses"),
  ];
}

function generationErrors(generation: number | undefined, field: string): FieldError[] {
  return generation !== undefined && generation < 0 ? [invalidValue(field, generation, "must be a non-negative integer")] : [];
}

function transitionErrors(
  statuses: readonly ContainerStatus[] | undefined,
  old: readonly ContainerStatus[] | undefined,
  field: string,
  mayRun: (name: string, exitCode: number) => boolean,
): FieldError[] {
  return (old ?? []).flatMap(({ name, state: { terminated } }, index) => {
    const now = statuses?.find((status) => status.name === name);
    const isBack = terminated !== undefined && now !== undefined && now.state.terminated === undefined;
    return isBack && !mayRun(name, terminated.exitCode)
      ? [forbiddenField(`${field}[${index}].state`, "may not be transitioned to non-terminated state")]
      : [];
  });
}

/** Source: ValidateContainerStateTransition and ValidateInitContainerStateTransition. */
function mayRestart(spec: PodSpec, containers: readonly Container[] | null | undefined, name: string, exitCode: number): boolean {
  if (allContainersCouldRestart({ ...spec, containers: spec.containers ?? [] })) return true;
  const container = containers?.find((one) => one.name === name);
  return container !== undefined && shouldRestart(container, spec, exitCode);
}

type Addresses = readonly { readonly ip: string }[];

function addressErrors(addresses: Addresses = [], old: Addresses = [], field: string): FieldError[] {
  const errors = addresses.flatMap(({ ip }, index) =>
    old.some((one) => one.ip === ip) ? [] : each(`${field}[${index}]`, ip, ipProblems(ip)),
  );
  const isDual = addresses.length === 2 && new Set(addresses.map(({ ip }) => isIPv4(ip))).size === 2;
  if (addresses.length > 1 && !isDual)
    errors.push(invalidValue(field, capitalized(addresses), "may specify no more than one IP for each IP family"));
  return errors;
}

/** The real server prints its internal type. */
function capitalized(addresses: Addresses): { IP: string }[] {
  return addresses.map(({ ip }) => ({ IP: ip }));
}

function hostAddressErrors({ hostIP = "", hostIPs = [] }: PodStatus, old: PodStatus): FieldError[] {
  const [first] = hostIPs;
  if (first === undefined) return [];
  const matches = first.ip === hostIP ? [] : [invalidValue("status.hostIPs[0].ip", first.ip, "must be equal to `hostIP`")];
  return [...matches, ...addressErrors(hostIPs, old.hostIPs, "status.hostIPs")];
}
